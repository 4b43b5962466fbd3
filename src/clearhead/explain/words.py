"""How a token is written in a picture."""

from collections.abc import Sequence

from clearhead.text import BothLanguages

CONTINUED = "·"  # the rest of a word: "quatre" "·vingt"


def labels(tokenizer: BothLanguages, ids: Sequence[int]) -> list[str]:
    """One label a token: no space before a word, a dot before the rest of a word."""
    pieces = [tokenizer.piece(token) for token in ids]
    return [label(piece, before) for piece, before in zip(pieces, [" ", *pieces], strict=False)]


def label(piece: str, before: str = "") -> str:
    """Of one piece behind another; a piece of white space is shown as an open box."""
    if not piece.strip():
        return "␣" * len(piece)
    goes_on = piece[0].isalnum() and before[-1:].isalnum()
    return CONTINUED + piece if goes_on else piece.strip()
