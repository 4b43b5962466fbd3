"""A batch of ids to hidden states: the model's own way, or the fused one that computes the same."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, islice
from typing import Literal, NamedTuple, cast

import torch
from torch import Tensor

from clearhead.decoding.batching import padded
from clearhead.decoding.precision import PACKS
from clearhead.errors import UserError
from clearhead.fast.fused_stack import FusedStack, Run, can_fuse
from clearhead.fast.memory import keep_freed_memory
from clearhead.models import Bert, Esm

Ids = Sequence[int]
EncoderModel = Bert | Esm
Precision = Literal["float32", "bfloat16", "int8"]


class Text(NamedTuple):
    """Ids, and of a pair of texts which of the two (0 or 1) each is of; None: there is one."""

    ids: Ids
    segments: Ids | None = None


class Block(NamedTuple):
    """Texts of one length: ids (texts, length) and hidden states (texts, length, d_model)."""

    ids: Tensor
    hidden: Tensor


Encoding = Callable[[Sequence[Text]], Iterator[Block]]


def encoding_of(model: EncoderModel, precision: Precision = "float32") -> Encoding:
    """The fastest that computes the same on this device; with other than float32, nearly the same.

    Raises:
        UserError: there is no such precision, or it cannot be had for this model here.
    """
    if precision not in PACKS:
        raise UserError(f"precision {precision!r} is unknown; give {', '.join(PACKS)} or auto")
    on_cpu = next(model.parameters()).device.type == "cpu"
    if on_cpu and can_fuse(model.encoder):
        keep_freed_memory()
        return FusedEncoding(model, precision)
    if precision != "float32":
        raise UserError(
            f"precision {precision} needs a processor and a model of the library's own blocks, "
            "watched by nobody; give precision float32"
        )
    return PaddedEncoding(model)


class PaddedEncoding:
    """The model as it stands, on a rectangle with padding and a mask."""

    def __init__(self, model: EncoderModel) -> None:
        self.model = model

    def __call__(self, batch: Sequence[Text]) -> Iterator[Block]:
        """Texts, those of one length side by side -> what they are read as, in order."""
        device = next(self.model.parameters()).device
        # Which id fills up is no matter: nobody looks there.
        ids = padded([text.ids for text in batch], 0, device)
        lengths = torch.tensor([len(text.ids) for text in batch], device=device)
        mask = (torch.arange(ids.shape[1], device=device) < lengths[:, None])[:, None, None]
        if any(text.segments for text in batch):
            segments = [text.segments or [0] * len(text.ids) for text in batch]
            hidden = self.model(ids, mask, padded(segments, 0, device))
        else:
            hidden = self.model(ids, mask)
        start = 0
        for run in runs_of(batch):
            rows = slice(start, start := start + run.texts)
            yield Block(ids[rows, : run.length], hidden[rows, : run.length])


class FusedEncoding:
    """Without padding: the model's own embeddings run by run, then `FusedStack` on all rows."""

    def __init__(self, model: EncoderModel, precision: Precision) -> None:
        self.embed = EMBED[type(model)](model)
        self.stack = FusedStack(model.encoder, model.config.d_model, PACKS[precision])

    def __call__(self, batch: Sequence[Text]) -> Iterator[Block]:
        """As `PaddedEncoding`."""
        runs, every = runs_of(batch), iter(batch)
        texts = [list(islice(every, run.texts)) for run in runs]
        ids = [torch.tensor([text.ids for text in run], dtype=torch.long) for run in texts]
        embedded = [
            self.embed(*pair).flatten(0, 1)
            for pair in zip(ids, map(segments_of, texts), strict=True)
        ]
        hidden = self.stack(torch.cat(embedded), runs).split(
            [run.texts * run.length for run in runs]
        )
        for own, vectors in zip(ids, hidden, strict=True):
            yield Block(own, vectors.view(*own.shape, -1))


def runs_of(batch: Sequence[Text]) -> list[Run]:
    """How many neighbours have which length."""
    lengths = groupby(len(text.ids) for text in batch)
    return [Run(len(list(group)), length) for length, group in lengths]


def segments_of(run: Sequence[Text]) -> Tensor | None:
    """(texts, length), or None where no text is a pair."""
    if not any(text.segments for text in run):
        return None
    return torch.tensor([text.segments or [0] * len(text.ids) for text in run], dtype=torch.long)


Embed = Callable[[Tensor, Tensor | None], Tensor]


def _bert(model: EncoderModel) -> Embed:
    embeddings = cast(Bert, model).embeddings
    return lambda ids, segments: embeddings(
        ids, torch.zeros_like(ids) if segments is None else segments
    )


def _esm(model: EncoderModel) -> Embed:
    embed = cast(Esm, model).embed
    return lambda ids, _: embed(ids, torch.ones_like(ids, dtype=torch.bool)[:, None, None])


EMBED: dict[type, Callable[[EncoderModel], Embed]] = {Bert: _bert, Esm: _esm}
