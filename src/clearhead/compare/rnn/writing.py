"""Writing one translation: the time of a token, and what is carried from token to token.

The Transformer keeps keys and values of all that was written, the RNN one state whatever the
length. Both walk their own modules step by step, without the projection, which is the same.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from clearhead.blocks import padding_mask
from clearhead.compare.rnn.carried import Carried
from clearhead.compare.rnn.entrants import NAMES, Model, make
from clearhead.compare.rnn.numbers import Writing
from clearhead.compare.rnn.translator import RnnTranslator
from clearhead.fast.incremental import IncrementalDecoder
from clearhead.models import TransformerConfig

SOURCE = 16  # tokens read before


class Cost(NamedTuple):
    """Of one translation."""

    seconds: float
    nbytes: int


def measure_writing(
    config: TransformerConfig, lengths: list[int], rounds: int, say: Callable[[str], None]
) -> Writing:
    """The fastest of some rounds, and the bytes, at each length."""
    microseconds: dict[str, list[float]] = {name: [] for name in NAMES}
    kilobytes: dict[str, list[float]] = {name: [] for name in NAMES}
    for name in NAMES:
        say(f"  {name}")
        model = make(name, config, seed=1).eval()
        for length in lengths:
            costs = [write(model, length) for _ in range(rounds)]
            microseconds[name].append(1e6 * min(cost.seconds for cost in costs) / length)
            kilobytes[name].append(costs[0].nbytes / 1e3)
    return Writing(lengths, microseconds, kilobytes)


def write(model: Model, length: int) -> Cost:
    """One sentence of so many tokens, always the same one: what is written does not matter."""
    first = max(model.config.pad_id, model.config.bos_id, model.config.eos_id) + 1
    src, word = torch.full((1, SOURCE), first), torch.tensor([first])
    mask = padding_mask(src, model.config.pad_id)
    with torch.inference_mode():
        if isinstance(model, RnnTranslator):
            return _write_recurrent(model, model.start(model.encode(src, mask), mask), word, length)
        decoder = IncrementalDecoder(model)
        decoder.start(model.encode(src, mask), mask)
        return _write_attending(decoder, word, length)


def _write_recurrent(model: RnnTranslator, carried: Carried, word: Tensor, length: int) -> Cost:
    began = time.perf_counter()
    for _ in range(length):
        _, carried = model.step(word, carried)
    return Cost(time.perf_counter() - began, carried.nbytes())


def _write_attending(decoder: IncrementalDecoder, word: Tensor, length: int) -> Cost:
    began = time.perf_counter()
    for _ in range(length):
        decoder.step(word)
    seconds = time.perf_counter() - began
    used = decoder.cache[..., :length, :]  # room for more is left out
    held = sum(t.numel() * t.element_size() for t in (used, decoder.memory))
    return Cost(seconds, held)
