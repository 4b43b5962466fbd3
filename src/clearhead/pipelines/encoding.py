"""Batches of token ids to hidden states, by the model's own modules or by the native engine."""

import logging
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple, cast

import torch
from torch import Tensor

from clearhead.decoding.readable import padded
from clearhead.errors import UserError
from clearhead.models import Bert, Esm
from clearhead.models.native import native_model
from clearhead.native.session import hidden_states

logger = logging.getLogger(__name__)
Ids = Sequence[int]
EncoderModel = Bert | Esm


class Text(NamedTuple):
    """Ids and, for a pair of texts, the segment of each id, 0 or 1."""

    ids: Ids
    segments: Ids | None = None


class Block(NamedTuple):
    """Texts of one length: ids (texts, length) and hidden states (texts, length, d_model)."""

    ids: Tensor
    hidden: Tensor


def encode(model: EncoderModel, batch: Sequence[Text]) -> Iterator[Block]:
    """The hidden states of a batch, without padding, in the order of the texts.

    Consecutive texts of one length form a block, so texts should be sorted by length.
    """
    device = next(model.parameters()).device
    ids = padded([text.ids for text in batch], 0, device)  # any id, since padding is masked
    lengths = torch.tensor([len(text.ids) for text in batch], device=device)
    # (batch, length) -> (batch, 1, 1, length)
    mask = (torch.arange(ids.shape[1], device=device) < lengths[:, None])[:, None, None]
    if any(text.segments for text in batch):
        segments = [text.segments or [0] * len(text.ids) for text in batch]
        hidden = model(ids, mask, padded(segments, 0, device))
    else:
        hidden = model(ids, mask)
    start = 0
    for length, texts in groupby(len(text.ids) for text in batch):
        rows = slice(start, start := start + len(list(texts)))
        yield Block(ids[rows, :length], hidden[rows, :length])


Embed = Callable[[Sequence[Text]], Tensor]  # texts of one length -> (texts, length, d_model)


class NativeEncoder:
    """The stack in C, the embeddings by the model's own module; called as `encode`, no padding."""

    def __init__(self, model: EncoderModel, int8: bool = False) -> None:
        self.native, self.embed = native_model(model, int8), EMBED[type(model)](model)

    def __call__(self, batch: Sequence[Text]) -> Iterator[Block]:
        """Consecutive texts of one length form a block, in the order of the texts."""
        groups = [list(texts) for _, texts in groupby(batch, key=lambda text: len(text.ids))]
        embedded = [text.numpy() for group in groups for text in self.embed(group)]
        hidden = iter(hidden_states(self.native, embedded))
        for group in groups:
            ids = torch.tensor([text.ids for text in group], dtype=torch.long)
            yield Block(ids, torch.stack([torch.from_numpy(next(hidden)) for _ in group]))


def _bert(model: EncoderModel) -> Embed:
    embeddings = cast(Bert, model).embeddings

    def embed(texts: Sequence[Text]) -> Tensor:
        ids = torch.tensor([text.ids for text in texts], dtype=torch.long)
        segments = torch.tensor([text.segments or [0] * len(text.ids) for text in texts])
        return cast(Tensor, embeddings(ids, segments))

    return embed


def _esm(model: EncoderModel) -> Embed:
    token_embeddings = cast(Esm, model).embed

    def embed(texts: Sequence[Text]) -> Tensor:
        ids = torch.tensor([text.ids for text in texts], dtype=torch.long)
        visible = torch.ones_like(ids, dtype=torch.bool)[:, None, None]
        return cast(Tensor, token_embeddings(ids, visible))

    return embed


EMBED: dict[type, Callable[[EncoderModel], Embed]] = {Bert: _bert, Esm: _esm}


class Positions:
    """Checks texts of ids against the number of positions; counts those that it truncates.

    A truncated text keeps its first tokens and its last special token, as in
    sentence-transformers.
    """

    def __init__(self, limit: int, truncate: bool = False) -> None:
        self.limit, self.truncate = limit, truncate
        self.seen, self.cut, self.first = 0, 0, ""

    def fit(self, ids: Sequence[int], name: str) -> list[int]:
        """The ids, truncated if necessary; `name` identifies the text in errors.

        Raises:
            UserError: there are too many, and truncation is off.
        """
        self.seen += 1
        if len(ids) <= self.limit:
            return list(ids)
        if not self.truncate:
            raise UserError(
                f"input {name!r} has {len(ids):,} tokens with special tokens, and this model reads "
                f"{self.limit:,}; shorten or split it, or let it be cut (--truncate, in Python "
                "truncate=True)"
            )
        self.first = self.first or name
        self.cut += 1
        return [*ids[: self.limit - 1], ids[-1]]

    def warn(self) -> None:
        """Log how many texts were truncated, if any."""
        if self.cut:
            logger.warning(
                "%d of %d texts were cut to %d tokens; the first is %r",
                self.cut, self.seen, self.limit, self.first,
            )  # fmt: skip
