"""`clearhead data`: corpora that can be downloaded by name."""

import sys
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Corpora that can be downloaded by name.", no_args_is_help=True, rich_markup_mode=None
)


@app.command("list")
def list_corpora() -> None:
    """Show the corpora and data sets, their size and their licence."""
    from clearhead.data.download import CATALOGUE

    for name, corpus in CATALOGUE.items():
        print(f"{name:<12} {corpus.title}\n{'':<12} {corpus.pairs} {corpus.unit}, {corpus.size}")
        print(f"{'':<12} {corpus.licence}\n")
    print("Get one with: clearhead data get NAME")


@app.command("get")
def get(
    name: Annotated[str, typer.Argument(help="A name that `clearhead data list` shows.")],
    directory: Annotated[
        Path, typer.Option("--dir", help="Parent directory; the corpus is saved in DIR/NAME.")
    ] = Path("data"),
) -> None:
    """Download a corpus, verify and unpack it, and print the next command."""
    from clearhead.data.download import download_corpus, find_corpus
    from clearhead.errors import shell_command

    corpus = find_corpus(name)
    spec = download_corpus(corpus, directory / name, _Progress())
    print(f"{name}: {corpus.pairs} {corpus.unit}, {corpus.licence}", file=sys.stderr)
    command = shell_command(*corpus.command.split(), spec)
    print(f"train on it with: {command}", file=sys.stderr)
    print(spec)


class _Progress:
    """On a terminal one line that counts up; elsewhere one line per file."""

    def __init__(self) -> None:
        self._shown = ""

    def __call__(self, name: str, have: int, total: int | None) -> None:
        size = f" of {total / 1e6:.1f}" if total else ""
        if sys.stderr.isatty():
            end = "\n" if have == total else ""
            print(f"\r{name}: {have / 1e6:.1f}{size} MB", end=end, file=sys.stderr, flush=True)
        elif name != self._shown:
            self._shown = name
            print(f"fetching {name}", file=sys.stderr)
