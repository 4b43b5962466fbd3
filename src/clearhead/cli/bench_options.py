"""The options that the verbs of `clearhead bench` share."""

from pathlib import Path
from typing import Annotated

import typer

Only = Annotated[
    list[str] | None, typer.Option(help="This peer alone; may be repeated.", show_default="all")
]
Rounds = Annotated[int, typer.Option(min=1, help="Rounds that count; warm-up comes before.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Cores to use.", show_default="all")]
Json = Annotated[Path | None, typer.Option("--json", help="Keep every lap in this file.")]
Size = Annotated[str, typer.Option(help="race (256 wide, 3 + 3 layers), tiny, small, base, big.")]
Vocabulary = Annotated[int, typer.Option(min=8, help="Pieces of the vocabulary.")]
Batch = Annotated[int, typer.Option(min=1, help="Sentences in the batch.")]
Length = Annotated[int, typer.Option(min=2, help="Tokens a sentence, end sign included.")]
Model = Annotated[
    Path | None,
    typer.Option(help="Directory of a model or a training run.", show_default="the shipped one"),
]
Data = Annotated[str, typer.Option(metavar="SPEC", help="A corpus: file or grammar:SPLIT:COUNT.")]
Lines = Annotated[int, typer.Option(min=1, help="Its first N pairs.")]
Batches = Annotated[list[int], typer.Option(min=1, help="Sentences side by side; repeatable.")]
Beams = Annotated[list[int], typer.Option(min=1, help="1 is greedy; repeatable.")]
Seconds = Annotated[float, typer.Option(min=0, help="Time of each side in a round.")]
BatchTokens = Annotated[int, typer.Option(min=8, help="Positions a batch, padding included.")]
Longest = Annotated[int, typer.Option(min=32, help="Tokens of the longest translation.")]
Plot = Annotated[Path | None, typer.Option(help="Draw the cost of a token (.svg, .png, .pdf).")]
Matrix = Annotated[int, typer.Option(min=32, help="Rows and columns of the matrices multiplied.")]
Megabytes = Annotated[int, typer.Option(min=1, help="Memory copied, more than any cache.")]
