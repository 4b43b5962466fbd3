"""The `clearhead` command: its verbs, and the exit code of each outcome.

Exit codes: 0 success, 2 bad input, or output that cannot be written (one line on stderr says
what to do), 130 stopped by Ctrl-C, 143 stopped by SIGTERM, 141 the reader of the output
closed it. A traceback is always a bug.
"""

import errno
import gc
import io
import os
import re
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from types import FrameType
from typing import Annotated, Any

import typer

from clearhead import __version__
from clearhead.cli import bench, bio, compare, data, learn
from clearhead.cli.attention import attention
from clearhead.cli.classify import classify
from clearhead.cli.compare import verify
from clearhead.cli.embed import embed
from clearhead.cli.evaluate import evaluate
from clearhead.cli.export import convert, export
from clearhead.cli.fill_mask import fill_mask
from clearhead.cli.first_guesses import advice, command_for
from clearhead.cli.generate import generate
from clearhead.cli.options import GivenOnce
from clearhead.cli.trace import trace
from clearhead.cli.train import TrainCommand, restart_with_tcmalloc, train
from clearhead.cli.translate import translate
from clearhead.errors import UserError

BAD_INPUT, INTERRUPTED, BROKEN_PIPE = 2, 130, 141
STOP_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
VERSION = "Show the version and exit."
STDOUT = 1  # its file descriptor
LONGEST = 1000  # characters of an error
NO_COMMAND = re.compile(r"""(No such command (['"])(.*?)\2)(\. Did you mean .*)?""")
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "out of memory")  # in torch's errors
# What the help shows in place of a Python type; an argument has only its own name.
VALUES = {"int": "NUMBER", "float": "NUMBER", "str": "TEXT", "path": "PATH"}
DIRECTORIES = ("model", "ensemble", "run_dir")
# New objects between two garbage collections. Importing torch creates hundreds of thousands that
# stay: collecting after every 700 of them, Python's default, takes a tenth of a command's start.
COLLECT_AFTER = 20_000

# Plain help and plain errors: rich would double the time of `clearhead --help`.
app = typer.Typer(
    name="clearhead", no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False
)
app.command(cls=GivenOnce)(translate)
app.command(cls=TrainCommand)(train)
app.command(cls=GivenOnce)(evaluate)
app.command(cls=GivenOnce)(export)
app.command()(convert)
app.command()(attention)
app.command()(trace)
app.command(cls=GivenOnce)(generate)
app.command()(fill_mask)
app.command()(embed)
app.command(cls=GivenOnce)(classify)
app.command()(verify)
app.add_typer(bio.app, name="bio")
app.add_typer(data.app, name="data")
app.add_typer(learn.app, name="learn")
app.add_typer(bench.app, name="bench")
app.add_typer(compare.app, name="compare")


def _show_version(asked: bool) -> None:
    if asked:
        print(f"clearhead {__version__}")
        raise typer.Exit


@app.callback()
def clearhead(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help=VERSION)
    ] = False,
) -> None:
    """Train, run and inspect Transformers: a translator, and models such as BERT and ESM-2."""


def main() -> None:
    """Run the command line and exit with its code."""
    restart_with_tcmalloc(sys.argv[1:])
    gc.set_threshold(COLLECT_AFTER)
    _replace_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    for number in STOP_SIGNALS:
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores SIGHUP: so do we
            signal.signal(number, _stop)
    sys.exit(run(sys.argv[1:]))


def _replace_closed_streams() -> None:
    """Python has None for a closed stream: let reading and writing raise an `OSError` instead.

    What is written to a closed standard error is dropped.
    """
    for name, mode in (("stdin", "w"), ("stdout", "r"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - for good


def _stop(number: int, frame: FrameType | None) -> None:
    """Leave through every `finally`, so that unfinished output is removed."""
    raise SystemExit(128 + number)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; bad input prints one line on stderr."""
    try:
        code = _run_verb(arguments)
        sys.stdout.flush()
    except UserError as error:
        return _complain(str(error))
    except (typer.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except (BrokenPipeError, SystemExit) as error:
        return _leave(error)
    except OSError as error:
        return _complain_about_file(error)
    except (MemoryError, RuntimeError) as error:
        return _complain_about_memory(error)
    return code


def _run_verb(arguments: Sequence[str]) -> int:
    try:
        code = _commands()(list(arguments), prog_name="clearhead", standalone_mode=False)
    except typer.TyperException as error:
        return _complain_about_usage(error, arguments)
    return code if isinstance(code, int) else 0


def _commands() -> Any:
    """The command with its verbs, whose help shows no types of Python."""
    found: list[Any] = [typer.main.get_command(app)]
    for command in found:
        found += getattr(command, "commands", {}).values()
        for parameter in command.params:
            if parameter.param_type_name == "argument":
                parameter.metavar = parameter.metavar or parameter.name.upper()
            # Another version of typer may have no such method, and then shows its own types.
            if typed := getattr(parameter, "display_type_rich", None):
                parameter.display_type_rich = partial(_value, parameter, typed)
    return found[0]


def _value(parameter: Any, typed: Callable[[Any], str | None], ctx: Any) -> str | None:
    shown = typed(ctx) or ""
    kind = re.sub(r"^<(list\[)?|\]?( range)?>$", "", shown).lower()  # <list[Path]>, <int range>
    if kind not in VALUES:
        return shown
    if parameter.param_type_name == "argument":
        return None
    return "DIRECTORY" if parameter.name in DIRECTORIES else VALUES[kind]


def _leave(error: BrokenPipeError | SystemExit) -> int:
    """Typer turns a broken pipe into `sys.exit(1)`; keep the exit code that shells use for it."""
    if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
        raise error
    _discard_output()
    return BROKEN_PIPE


def _discard_output() -> None:
    """Redirect the interpreter's last flush, which a broken pipe or a full disk would fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), STDOUT)


def _complain_about_file(error: OSError) -> int:
    """Report a failed read or write, with the file if the error names one."""
    _discard_output()
    reason = error.strerror or str(error)
    if error.filename is not None:
        return _complain(f"{os.fsdecode(error.filename)}: {reason}; check the file and try again")
    if error.errno in NO_SPACE:
        return _complain(
            f"cannot write standard output: {reason}; free some space or write somewhere else"
        )
    if isinstance(error, io.UnsupportedOperation):
        if not sys.stdout.writable():
            return _complain("standard output is closed; send it to a file or a pipe")
        return _complain("standard input is closed; give a text or the name of a file")
    return _complain(f"standard input or output: {reason}; give files with --input and --output")


def _complain_about_memory(error: MemoryError | RuntimeError) -> int:
    """Report a lack of memory, for which torch raises a `RuntimeError` as well."""
    if not isinstance(error, MemoryError) and not any(t in str(error) for t in OUT_OF_MEMORY):
        raise error
    return _complain(
        "there is not enough memory; give smaller batches (--batch-tokens, run.batch_tokens), "
        "shorter texts or a smaller model"
    )


def _complain(message: str) -> int:
    if len(message) > LONGEST:  # it quotes a long argument
        message = f"{message[: LONGEST // 2]} … {message[-LONGEST // 2 :]}"
    with suppress(OSError):  # standard error may be full as well
        print("clearhead: error:", " ".join(message.splitlines()), file=sys.stderr)
    return BAD_INPUT


def _verb(arguments: Sequence[str]) -> str:
    """The command that these arguments begin with, for errors that carry none."""
    path, command = "clearhead", _commands()
    for argument in arguments:
        if (found := getattr(command, "commands", {}).get(argument)) is None:
            break
        path, command = f"{path} {argument}", found
    return path


def _complain_about_usage(error: typer.TyperException, arguments: Sequence[str]) -> int:
    if type(error).__name__ == "NoArgsIsHelpError":  # its message is the help text itself
        print(error.format_message())
        return 0
    context = getattr(error, "ctx", None)
    path = context.command_path if context else _verb(arguments)
    option = getattr(error, "option_name", None)
    if option and (instead := advice(path.removeprefix("clearhead "), option)):
        return _complain(f"No such option: {option}; write {instead}")
    message = error.format_message().rstrip(".").replace("Value error, ", "").replace("\n\t", " ")
    unknown = NO_COMMAND.fullmatch(message)
    if unknown and path == "clearhead" and (command := command_for(unknown[3])):
        return _complain(f"{unknown[1]}; write {command}")
    return _complain(f"{message}; `{path} --help` lists the options")
