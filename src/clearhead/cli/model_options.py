"""Which model a verb uses, and what it is given: the options that several verbs share."""

from typing import Annotated

import typer

Model = Annotated[
    str | None,
    typer.Option(
        help="Directory of a model or a training run, or a name on the hub.",
        show_default="the shipped one",
    ),
]
Ensemble = Annotated[
    list[str] | None,
    typer.Option(help="A further model, with the same tokenizer, that has a say; repeat for more."),
]
Truncate = Annotated[
    bool, typer.Option("--truncate", help="Cut a text that is too long, instead of refusing it.")
]
