"""`clearhead compare`: what differs between ours and others, measured or computed now."""

from typing import Annotated, Literal

import typer

from clearhead.cli.compare_rnn import rnn
from clearhead.cli.compare_width import width

app = typer.Typer(
    help="Ours beside others: the same function, other habits; each claim computed now.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Format = Annotated[
    Literal["text", "md", "json"], typer.Option(help="For eyes, for a page, or for a program.")
]


@app.command()
def keras(format: Format = "text") -> None:
    """Multi-head attention in Keras, in torch.nn and here: what is equal, and what differs."""
    from clearhead.compare.keras_attention.report import compare_keras, show

    report = compare_keras()
    print(show(report, format), end="")
    if not all(verdict.met for verdict in report.verdicts):
        raise typer.Exit(1)


app.command()(rnn)
app.command("d-model")(width)
