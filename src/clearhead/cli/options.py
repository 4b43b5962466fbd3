"""Options that several verbs share: the model, the search, and how the result is computed."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from clearhead.cli.streams import or_stdout
from clearhead.errors import UserError

ONCE = {
    ("--data",): "join corpora with a plus: --data 'FIRST + SECOND'",
    ("--to",): "give one format at a time",
    ("--input", "-i"): "join the files: cat FIRST SECOND, piped to a command without --input",
    ("--hypotheses", "--hyp"): "give one file, and another one to compare with as --against",
}


class GivenOnce(TyperCommand):
    """Refuses an option of `ONCE` that is repeated; the parser would keep the last value only."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Check for repeated options, then parse as every command does."""
        given = args[: args.index("--")] if "--" in args else args
        for names, advice in ONCE.items():
            if sum(argument.partition("=")[0] in names for argument in given) > 1:
                raise UserError(f"{names[0]} is given twice; {advice}")
        return super().parse_args(ctx, args)


def all_changes(
    given: Mapping[str, Any], changes: list[str], clash: Callable[[str, str], str]
) -> list[str]:
    """The values of options in the form of `--set`, then the changes of `--set`.

    Raises:
        UserError: both change one key; `clash` says so, from the key and the change.
    """
    for change in changes:
        if (key := change.partition("=")[0].strip()) in given:
            raise UserError(f"{clash(key, change)}; give one of them")
    return [*(f"{key}={_as_yaml(value)}" for key, value in given.items()), *changes]


def _as_yaml(value: Any) -> str:
    """The value on one line; a file called 1:30 remains a string."""
    import yaml

    if not isinstance(value, str):
        return json.dumps(value)
    quoted = yaml.safe_dump(value, default_style='"', allow_unicode=True, width=float("inf"))
    return quoted.rstrip("\n")


Target = Annotated[
    str | None, typer.Option(help="Its translation.", show_default="the model's own")
]

# The model
Model = Annotated[
    str | None,
    typer.Option(
        help="Directory of a model or a training run, or a name on the hub.",
        show_default="shipped",
    ),
]
ModelDirectory = Annotated[
    Path | None,
    typer.Option(help="Directory of a model or a training run.", show_default="shipped"),
]
Ensemble = Annotated[
    list[str] | None,
    typer.Option(help="A further model of an ensemble, with the same tokenizer; may be repeated."),
]
CheckCopies = Annotated[
    bool | None,
    typer.Option(
        "--check-copies/--no-check-copies",
        help="Search again where a translation lacks a name, number, URL, code or emoji.",
        show_default="with the shipped translator",
    ),
]

# The texts
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="Output file, written completely or not at all.", callback=or_stdout
    ),
]
Truncate = Annotated[
    bool, typer.Option("--truncate", help="Truncate texts that are too long, instead of an error.")
]

# The search
BeamSize = Annotated[int, typer.Option(help="Hypotheses per sentence; 1 is greedy and fastest.")]
LengthPenalty = Annotated[
    float, typer.Option(help="Rank by score / length^PENALTY; larger favours longer translations.")
]
BatchTokens = Annotated[int, typer.Option(help="Largest sentences × beams × longest source.")]

# The computation
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:N or mps.")]
Threads = Annotated[int | None, typer.Option(help="Cores to use.", show_default="all")]
Engine = Annotated[
    Literal["auto", "readable", "native"],
    typer.Option(help="native: compiled C; readable: the block files; auto: native if possible."),
]
Precision = Annotated[
    Literal["auto", "float32", "bfloat16", "int8"],
    typer.Option(help="Number format; auto: the fastest on a CPU (often int8), float32 on a GPU."),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Only errors on standard error.")]
