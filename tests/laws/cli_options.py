"""The command line as a list: one line per verb and per option, in the order of the help."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from clearhead.cli.main import app

SNAPSHOT = Path(__file__).parent / "cli_options.txt"


def root_command() -> Any:
    """The whole command tree as typer builds it."""
    return typer.main.get_command(app)


def describe(command: Any, path: str = "clearhead") -> Iterator[str]:
    """One line per verb, then one per parameter of it: names and kind."""
    yield path
    for parameter in command.params:
        names = "/".join([*parameter.opts, *parameter.secondary_opts])
        kind = "flag" if getattr(parameter, "is_flag", False) else parameter.param_type_name
        yield f"{path} {names} ({kind}{', many' * is_repeatable(parameter)})"
    for name, child in getattr(command, "commands", {}).items():
        yield from describe(child, f"{path} {name}")


def is_repeatable(parameter: Any) -> bool:
    """True where more than one value may be given."""
    return parameter.nargs == -1 or getattr(parameter, "multiple", False)


def listing() -> str:
    """What the snapshot should hold."""
    return "\n".join(describe(root_command())) + "\n"


if __name__ == "__main__":
    SNAPSHOT.write_text(listing(), encoding="utf-8", newline="\n")
