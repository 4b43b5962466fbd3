"""A pretrained model on its device, the engine that computes it, and the hidden states of texts."""

import logging
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import torch
from torch import Tensor

from clearhead.decoding.precision import Precision, readable_precision
from clearhead.decoding.readable import padded
from clearhead.errors import UserError
from clearhead.fast.accelerate import accelerate, operations_for
from clearhead.models import Bert, Esm
from clearhead.models.native import native_model, unsupported
from clearhead.native.choice import AnyPrecision, EngineName, Request, log_native, log_readable
from clearhead.native.search import default_threads
from clearhead.native.session import hidden_states
from clearhead.pretrained.files import CONFIG, directory_of
from clearhead.pretrained.loading import family_of, load
from clearhead.text import PretrainedTokenizer
from clearhead.text.model_files import COMMANDS, read_json
from clearhead.training.device_settings import choose_device, use_threads

# model_type of a config.json -> what the model does
ABILITIES = {
    "clearhead-transformer": "translates",
    "marian": "translates",
    "gpt2": "continues texts",
    "bert": "encodes texts",
    "esm": "encodes sequences",
}


def check_kind(directory: Path, wanted: Collection[str], fails: str, needed: str) -> None:
    """Refuse a directory whose model is of no `wanted` kind.

    The message says what it `fails` to do, what is `needed`, and names the command for it.
    """
    raw = read_json(directory / CONFIG)
    kind = str(raw.get("model_type"))
    if kind in ABILITIES and kind not in wanted:
        raise UserError(
            f"{directory} holds a {kind} model, which {ABILITIES[kind]} and {fails}; "
            f"use {COMMANDS[kind]} with it; {needed}"
        )
    family_of(raw, str(directory / CONFIG))


class PretrainedReader(ABC):
    """A model with its tokenizer, computed by the native engine if that supports the model.

    `kinds` are the values of model_type that it can use, `fails` and `needed` explain in an error
    why another kind is refused.

    Raises:
        UserError: the precision is unknown or not available on the model's device, or the native
            engine was requested and does not support the model.
    """

    kinds: ClassVar[Collection[str]]
    fails: ClassVar[str]
    needed: ClassVar[str]

    def __init__(
        self,
        model: Any,
        tokenizer: PretrainedTokenizer,
        precision: AnyPrecision = "float32",
        engine: EngineName = "auto",
        threads: int | None = None,
    ) -> None:
        request = Request(engine, "auto", precision, threads)
        self.model, self.tokenizer = model.eval(), tokenizer
        if reason := request.not_native() or request.refused(unsupported(model)):
            own = readable_precision(request.precision, next(model.parameters()).device)
            log_readable(own, reason)
            self.use_readable(own)
        else:
            cores = threads or default_threads()
            log_native(request, cores)
            self.use_native(request.int8, cores)

    @abstractmethod
    def use_readable(self, precision: Precision) -> None:
        """Let the model's own blocks compute."""

    @abstractmethod
    def use_native(self, int8: bool, threads: int) -> None:
        """Let the native engine compute."""

    @classmethod
    def from_pretrained(
        cls,
        source: str | Path,
        device: str = "auto",
        threads: int | None = None,
        precision: AnyPrecision = "float32",
        engine: EngineName = "auto",
    ) -> Self:
        """From a directory, a training run, or a name on the hub.

        Raises:
            UserError: there is no model, it is damaged or of another kind, its tokenizer belongs
                to another, or the device or precision is not available.
        """
        request = Request(engine, device, precision, threads)
        directory = directory_of(source)
        check_kind(directory, cls.kinds, cls.fails, cls.needed)
        use_threads(threads)
        where = choose_device(device if request.not_native() else "cpu")
        model, tokenizer = load(directory)
        if where.type != "cpu":
            model = accelerate(model, operations_for(where)).to(where)
        return cls(model, tokenizer, precision, engine, threads)


logger = logging.getLogger(__name__)
Ids = Sequence[int]
EncoderModel = Bert | Esm
Item = TypeVar("Item")
HINT = ", or let it be cut: --truncate on the command line, truncation=True in a pipeline"


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


class NativeEncoder:
    """The stack in C, the embeddings by the model's own module; called as `encode`, no padding."""

    def __init__(self, model: EncoderModel, int8: bool = False) -> None:
        self.native, self.model = native_model(model, int8), model

    def __call__(self, batch: Sequence[Text]) -> Iterator[Block]:
        """Consecutive texts of one length form a block, in the order of the texts."""
        groups = [list(texts) for _, texts in groupby(batch, key=lambda text: len(text.ids))]
        embedded = [text.numpy() for group in groups for text in self._embed(group)]
        hidden = iter(hidden_states(self.native, embedded))
        for group in groups:
            ids = torch.tensor([text.ids for text in group], dtype=torch.long)
            yield Block(ids, torch.stack([torch.from_numpy(next(hidden)) for _ in group]))

    def _embed(self, texts: Sequence[Text]) -> Tensor:
        """Texts of one length -> (texts, length, d_model)."""
        ids = torch.tensor([text.ids for text in texts], dtype=torch.long)
        if isinstance(self.model, Esm):
            return self.model.embed(ids, torch.ones_like(ids, dtype=torch.bool)[:, None, None])
        segments = torch.tensor([text.segments or [0] * len(text.ids) for text in texts])
        return self.model.embeddings(ids, segments)


class Positions:
    """Checks texts of ids against the number of positions; counts those that it truncates.

    A truncated text keeps its first tokens and its last special token, as in
    sentence-transformers. `truncate` None: truncation is not offered.
    """

    def __init__(self, limit: int, truncate: bool | None = False) -> None:
        self.limit, self.truncate = limit, truncate
        self.hint = "" if truncate is None else HINT
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
                f"{self.limit:,}; shorten or split it{self.hint}"
            )
        self.first = self.first or name
        self.cut += 1
        return self.same_part(ids)

    def same_part(self, items: Sequence[Item]) -> list[Item]:
        """What belongs to the ids that `fit` returns, of one item for each id."""
        return list(items if len(items) <= self.limit else [*items[: self.limit - 1], items[-1]])

    def warn(self) -> None:
        """Log how many texts were truncated, if any."""
        if self.cut:
            logger.warning(
                "%d of %d texts were cut to %d tokens; the first is %r",
                self.cut, self.seen, self.limit, self.first,
            )  # fmt: skip
