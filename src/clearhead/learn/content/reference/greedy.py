"""Greedy decoding of any model that scores the next token."""

from collections.abc import Callable

from torch import Tensor


def greedy(
    next_log_probabilities: Callable[[list[int]], Tensor],
    bos_id: int,
    eos_id: int,
    max_length: int,
) -> list[int]:
    """Always the most probable next token, until the EOS token or `max_length` tokens.

    `next_log_probabilities` takes the ids so far, BOS included, and returns (vocab,).
    The result has neither BOS nor EOS; the EOS token counts towards `max_length`.
    """
    ids = [bos_id]
    for _ in range(max_length):
        token = int(next_log_probabilities(ids).argmax())
        if token == eos_id:
            break
        ids.append(token)
    return ids[1:]
