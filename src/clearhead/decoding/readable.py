"""The readable engine: greedy and beam search over the forwards of the block files."""

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Self

import torch
from torch import Tensor, nn

from clearhead.decoding.engine import DecodingOptions, Engine, Hypothesis, check_sources
from clearhead.decoding.precision import Precision, in_precision
from clearhead.decoding.search import beam_search, greedy_search
from clearhead.decoding.steps import Begin, Steps, begin
from clearhead.errors import UserError
from clearhead.models import Transformer, TransformerConfig

EQUAL = ("src_vocab_size", "tgt_vocab_size", "pad_id", "bos_id", "eos_id")


@dataclass(frozen=True)
class ReadableEngine:
    """Decodes in PyTorch, for any model on any device; implements `Engine`.

    ``ReadableEngine.of(model)`` calls the model's own modules. `begin` reads a batch of
    sources; an ensemble or an exported model has another one. `models` are put in eval mode
    while the engine decodes.
    """

    config: TransformerConfig
    device: torch.device
    begin: Begin
    models: tuple[nn.Module, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, model: Transformer, precision: Precision = "float32") -> Self:
        """An engine for this model; for bfloat16 it holds a copy of the weights.

        Raises:
            UserError: the precision is unknown or not available on this device.
        """
        model = in_precision(model, precision)
        device = next(model.parameters()).device
        return cls(model.config, device, partial(begin, model), (model,))

    def decode(
        self, sources: Sequence[Sequence[int]], options: DecodingOptions | None = None
    ) -> list[list[Hypothesis]]:
        """As `Engine.decode`.

        Raises:
            UserError: a source is empty or longer than the model's positions.
        """
        options = options or DecodingOptions()
        sources = check_sources(sources, self.config.src_seq_len)
        found: dict[int, list[Hypothesis]] = {}
        lengths = [len(source) for source in sources]
        budget = options.batch_tokens // options.beam_size
        with torch.inference_mode(), in_eval_mode(*self.models):
            for batch in batches_by_tokens(lengths, budget, options.batch_sentences):
                hypotheses = self._decode_batch([sources[i] for i in batch], options)
                found |= zip(batch, hypotheses, strict=True)
        return [found[i] for i in range(len(sources))]

    def _decode_batch(
        self, sources: Sequence[Sequence[int]], options: DecodingOptions
    ) -> list[list[Hypothesis]]:
        limits = [options.limit(len(source), self.config.tgt_seq_len) for source in sources]
        steps = self.begin(padded(sources, self.config.pad_id, self.device))
        search = greedy_search if options.beam_size == 1 else beam_search
        return search(steps, torch.tensor(limits, device=self.device), self.config, options)


def decode(
    model: Transformer | Engine,
    sources: Sequence[Sequence[int]],
    options: DecodingOptions | None = None,
) -> list[list[Hypothesis]]:
    """Translate with an engine, or with the readable engine of a model; see `Engine.decode`."""
    engine = ReadableEngine.of(model) if isinstance(model, Transformer) else model
    if isinstance(engine, nn.Module):
        raise UserError(f"a {type(engine).__name__} does not translate; give a Transformer")
    return engine.decode(sources, options)


@contextmanager
def in_eval_mode(*models: nn.Module) -> Iterator[None]:
    """Without dropout; afterwards each module is in the mode in which it was.

    The mode belongs to the model: train it in no other thread meanwhile.
    """
    modes = [(module, module.training) for model in models for module in model.modules()]
    try:
        for model in models:
            model.eval()
        yield
    finally:
        for module, was_training in modes:
            module.training = was_training


def batches_by_tokens(
    lengths: Sequence[int], batch_tokens: int = sys.maxsize, batch_sentences: int | None = None
) -> Iterator[list[int]]:
    """Indices of sentences of like length, at most `batch_tokens` positions a padded batch.

    `batch_sentences`, if given, is a second limit. Longest first, so that a lack of memory
    shows at once or never. A sentence longer than `batch_tokens` is a batch of its own.
    """
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    start = 0
    while start < len(order):
        size = max(1, batch_tokens // max(1, lengths[order[start]]))
        size = min(size, batch_sentences or size)
        yield order[start : start + size]
        start += size


def padded(sentences: Sequence[Sequence[int]], pad_id: int, device: torch.device) -> Tensor:
    """Sentences of ids as one (batch, longest) tensor."""
    longest = max(len(ids) for ids in sentences)
    rows = [[*ids, *[pad_id] * (longest - len(ids))] for ids in sentences]
    return torch.tensor(rows, dtype=torch.long, device=device)


def ensemble(engines: Sequence[ReadableEngine]) -> ReadableEngine:
    """One engine of several models with the same vocabulary.

    Raises:
        UserError: their vocabularies or special tokens differ.
    """
    if len(engines) == 1:
        return engines[0]
    first = engines[0].config
    for engine in engines[1:]:
        for name in EQUAL:
            ours, theirs = getattr(first, name), getattr(engine.config, name)
            if ours != theirs:
                raise UserError(
                    f"the models of an ensemble share one vocabulary, but these have "
                    f"{name}={ours} and {theirs}; give models trained with the same tokenizer"
                )
    config = replace(
        first,
        src_seq_len=min(engine.config.src_seq_len for engine in engines),
        tgt_seq_len=min(engine.config.tgt_seq_len for engine in engines),
    )
    models = tuple(model for engine in engines for model in engine.models)
    begin_all = partial(EnsembleSteps.begin, [engine.begin for engine in engines])
    return ReadableEngine(config, engines[0].device, begin_all, models)


class EnsembleSteps:
    """The steps of all models on the same tokens; implements `Steps`."""

    def __init__(self, members: Sequence[Steps]) -> None:
        self.members = members

    @classmethod
    def begin(cls, each: Sequence[Begin], src: Tensor) -> Self:
        """As `Begin`, once for every model."""
        return cls([begin(src) for begin in each])

    def step(self, last: Tensor) -> Tensor:
        """(rows,) -> (rows, vocab) logarithms of the mean probabilities."""
        each = torch.stack([member.step(last) for member in self.members])
        return each.logsumexp(dim=0) - math.log(len(self.members))

    def reorder(self, rows: Tensor) -> None:
        """As `Steps.reorder`."""
        for member in self.members:
            member.reorder(rows)

    def keep(self, rows: Tensor) -> None:
        """As `Steps.keep`."""
        for member in self.members:
            member.keep(rows)
