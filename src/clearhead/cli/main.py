"""The `clearhead` command: gathers the verbs and turns every ending into an exit code.

Exit codes: 0 done, 2 bad input (one line on stderr says what to do), 130 stopped
by Ctrl-C, 141 the reader of our output went away. A traceback is always a bug.
"""

import gc
import io
import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from clearhead import __version__
from clearhead.cli import bench, compare, data
from clearhead.cli.attention import attention
from clearhead.cli.classify import classify
from clearhead.cli.convert import convert
from clearhead.cli.embed import embed
from clearhead.cli.evaluate import evaluate
from clearhead.cli.export import export
from clearhead.cli.fill_mask import fill_mask
from clearhead.cli.generate import generate
from clearhead.cli.trace import trace
from clearhead.cli.train import train
from clearhead.cli.translate import translate
from clearhead.cli.verify import verify
from clearhead.errors import UserError

BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 2, 130, 141
STDOUT = 1  # its file descriptor
# New objects between two searches for garbage. Importing torch makes hundreds of thousands that
# stay: searching after every 700 of them, as Python does, is a tenth of a command's start.
COLLECT_AFTER = 20_000

# Plain help and plain errors: rich would double the time of `clearhead --help`.
app = typer.Typer(
    name="clearhead",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command()(translate)
app.command()(train)
app.command()(evaluate)
app.command()(export)
app.command()(convert)
app.command()(attention)
app.command()(trace)
app.command()(generate)
app.command()(fill_mask)
app.command()(embed)
app.command()(classify)
app.command()(verify)
app.add_typer(data.app, name="data")
app.add_typer(bench.app, name="bench")
app.add_typer(compare.app, name="compare")


def _show_version(asked: bool) -> None:
    if asked:
        print(f"clearhead {__version__}")
        raise typer.Exit


@app.callback()
def clearhead(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show it.")
    ] = False,
) -> None:
    """The Transformer you can read is the Transformer you run."""


def main() -> None:
    """Run the command line and leave the process with its exit code."""
    gc.set_threshold(COLLECT_AFTER)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8")
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; bad input costs one line on stderr."""
    try:
        code = app(list(arguments), prog_name="clearhead", standalone_mode=False)
        sys.stdout.flush()
    except UserError as error:
        return _complain(str(error))
    except typer.TyperException as error:
        return _complain_about_usage(error)
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except (BrokenPipeError, SystemExit) as error:
        return _leave(error)
    return code if isinstance(code, int) else 0


def _leave(error: BrokenPipeError | SystemExit) -> int:
    """Typer turns a broken pipe into `sys.exit(1)`; we keep the shell's own code for it."""
    if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
        raise error
    # Let the interpreter's last flush go nowhere instead of into the broken pipe.
    os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT)
    return BROKEN_PIPE


def _complain(message: str) -> int:
    print("clearhead: error:", " ".join(message.splitlines()), file=sys.stderr)
    return BAD_INPUT


def _complain_about_usage(error: typer.TyperException) -> int:
    if type(error).__name__ == "NoArgsIsHelpError":  # its message is the help text itself
        print(error.format_message())
        return 0
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "clearhead"
    message = error.format_message().rstrip(".")
    return _complain(f"{message}; `{path} --help` lists what it takes")
