"""The vocabulary as a list, for engines that deal in pieces instead of ids."""

from clearhead.text import Tokenizer


def pieces(tokenizer: Tokenizer, size: int) -> list[str]:
    """Every piece by its id, signs and bytes included; what the model has beyond is named."""
    known = [tokenizer.piece(number) for number in range(tokenizer.vocab_size)]
    return known + [f"<unused {number}>" for number in range(len(known), size)]
