"""On what a verb computes, and how much it says: the options that most verbs share."""

from typing import Annotated

import typer

Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:N or mps.")]
Threads = Annotated[int | None, typer.Option(help="Cores to use.", show_default="all")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No warnings on standard error.")]
