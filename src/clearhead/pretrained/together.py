"""A model and the tokenizer that belongs to it."""

from pathlib import Path
from typing import Any

import torch
from torch import nn

from clearhead.errors import UserError
from clearhead.pretrained.families import Pretrained
from clearhead.pretrained.hub import directory_of
from clearhead.pretrained.loading import from_pretrained
from clearhead.text import PretrainedTokenizer, load_tokenizer

# A table of words may have so many rows more than there are words: widths that GPUs like.
SPARE_ROWS = 1000


def load(
    source: str | Path, dtype: torch.dtype | None = torch.float32
) -> tuple[Pretrained, PretrainedTokenizer]:
    """`from_pretrained`, and the tokenizer from the same directory.

    Raises:
        UserError: as `from_pretrained` and `load_tokenizer`, or the two do not belong together.
    """
    directory = directory_of(source)
    tokenizer = load_tokenizer(directory)
    model = from_pretrained(directory, dtype)
    check_together(model, tokenizer, str(directory))
    return model, tokenizer


def check_together(model: nn.Module, tokenizer: PretrainedTokenizer, origin: str) -> None:
    """Their vocabularies are of one size, and a sign has one number on both sides.

    Raises:
        UserError: they are not, or it has not.
    """
    config: Any = model.config
    rows = getattr(config, "vocab_size", None) or config.src_vocab_size
    if not 0 <= rows - tokenizer.vocab_size <= SPARE_ROWS:
        raise UserError(
            f"the tokenizer in {origin} has {tokenizer.vocab_size} tokens and the model {rows}; "
            "give the tokenizer that the model was trained with"
        )
    for role, number in tokenizer.signs.items():
        expected = getattr(config, f"{role}_id", None)
        if expected is not None and expected != number:
            raise UserError(
                f"the tokenizer in {origin} has {tokenizer.piece(number)!r} as {role} sign, number "
                f"{number}, where the model has {role}_id={expected}; give the tokenizer that the "
                "model was trained with"
            )
