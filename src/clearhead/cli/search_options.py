"""How a translator looks for its translations: what translate and evaluate both offer."""

from typing import Annotated

import typer

BeamSize = Annotated[int, typer.Option(help="Hypotheses side by side; 1 is greedy and fastest.")]
LengthPenalty = Annotated[
    float, typer.Option(help="A in score / length^A, by which hypotheses are ranked.")
]
BatchTokens = Annotated[int, typer.Option(help="Source tokens times beams computed at once.")]
