"""`clearhead verify`: every equality that we claim, tried now on this machine."""

import sys
from typing import Annotated, Literal

import typer

from clearhead.cli.machine_options import Threads

Peer = Annotated[
    Literal["torch", "fast", "keras", "transformers", "minilm", "ctranslate2", "onnx", "all"],
    typer.Argument(help="Whom to be held against; fast: our own fast twins."),
]
Format = Annotated[
    Literal["text", "md", "json"], typer.Option(help="For eyes, for a page, or for a program.")
]
MISSED = 1


def verify(peer: Peer = "all", format: Format = "text", threads: Threads = None) -> None:
    """Prove again that ours computes what others compute: the largest difference, and its bound.

    Exit code 1 if a bound is missed.
    """
    from clearhead.compare.proofs.report import show
    from clearhead.compare.proofs.verifying import verify as tried
    from clearhead.translation.threads import use_threads

    use_threads(threads)
    found = tried(peer, lambda line: print(line, file=sys.stderr, flush=True))
    print(show(found, format), end="")
    if found.missed:
        raise typer.Exit(MISSED)
