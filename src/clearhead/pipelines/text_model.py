"""A pretrained encoder with its tokenizer: texts to functions of their hidden states."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self, TypeVar

import torch
from torch import Tensor

from clearhead.decoding.choice import AnyPrecision, EngineName, Request
from clearhead.decoding.precision import in_precision
from clearhead.decoding.readable import batches_by_tokens
from clearhead.errors import UserError
from clearhead.pipelines.engines import (
    Block,
    EncoderModel,
    NativeEncoder,
    Text,
    check_kind,
    choose_engine,
    encode,
    load_model,
)
from clearhead.pipelines.factory import ModelPipeline
from clearhead.pretrained.files import directory_of
from clearhead.text import PretrainedTokenizer

# Tokens per batch. On a CPU so few keep the activations in its cache; a GPU needs more.
BATCH_TOKENS_ON_CPU, BATCH_TOKENS_ON_GPU = 1024, 16384
FEW_TOKENS = 64  # fewer are not worth another core

Result = TypeVar("Result")
Encode = Callable[[Sequence[Text]], Iterator[Block]]
# (texts, length) ids and (texts, length, d_model) hidden states -> a result for every text
Take = Callable[[Tensor, Tensor], Sequence[Result]]


class TextModel:
    """The common part of fill-mask, embedding and classification.

    Texts are processed in batches of similar length; the results are in the order of the texts.
    The result of a text does not depend on the other texts, except for rounding.

    Raises:
        UserError: the precision is unknown or not available on the model's device.
    """

    def __init__(
        self,
        model: EncoderModel,
        tokenizer: PretrainedTokenizer,
        precision: AnyPrecision = "float32",
        engine: EngineName = "auto",
        threads: int | None = None,
    ) -> None:
        self.device = next(model.parameters()).device
        request = Request(engine, "auto", precision, threads)
        chosen = choose_engine(model, request)
        self.threads = chosen.threads
        self.encode: Encode
        if chosen.native:
            self.encode = NativeEncoder(model.eval(), request.int8)
        else:
            model = in_precision(model, chosen.precision)
            self.encode = partial(encode, model)
        self.model, self.tokenizer = model.eval(), tokenizer

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
        check_kind(directory, ["bert", "esm"], "is no encoder", "this needs a BERT or an ESM-2")
        model, tokenizer = load_model(directory, request)
        assert isinstance(model, EncoderModel)
        return cls(model, tokenizer, precision, engine, threads)

    @property
    def settings(self) -> dict[str, Any]:
        """The content of the model's config.json."""
        origin = getattr(self.model, "origin", None)
        return dict(origin.config) if origin else {}

    def head(self, name: str, task: str) -> Callable[[Tensor], Tensor]:
        """One of the model's heads.

        Raises:
            UserError: it has no such head; the message names the task and the existing heads.
        """
        if name not in self.model.heads:
            there = ", ".join(self.model.heads) or "none"
            raise UserError(
                f"{task} needs a model with the head {name!r}, and this one has {there}; "
                "give a model that was trained for it"
            )
        head: Callable[[Tensor], Tensor] = self.model.heads[name]
        return head

    def read(self, texts: Sequence[Text], take: Take[Result]) -> list[Result]:
        """The result of every text, in order."""
        lengths = [len(text.ids) for text in texts]
        budget = BATCH_TOKENS_ON_CPU if self.device.type == "cpu" else BATCH_TOKENS_ON_GPU
        budget = min(budget, max(FEW_TOKENS, -(-sum(lengths) // self.threads)))
        batches = list(batches_by_tokens(lengths, budget))

        @torch.inference_mode()
        def results(batch: list[int]) -> list[Result]:
            blocks = self.encode([texts[row] for row in batch])
            return [result for block in blocks for result in take(block.ids, block.hidden)]

        workers = min(self.threads, len(batches))
        if workers > 1:  # the native engine: a batch on every core
            with ThreadPoolExecutor(workers) as pool:
                taken = list(pool.map(results, batches))
        else:
            taken = [results(batch) for batch in batches]
        found = {
            row: result
            for batch, own in zip(batches, taken, strict=True)
            for row, result in zip(batch, own, strict=True)
        }
        return [found[number] for number in range(len(texts))]


class TextPipeline(ModelPipeline):
    """The common part of pipelines around a `TextModel`."""

    loader = TextModel.from_pretrained

    def __init__(self, reader: TextModel) -> None:
        self.reader = reader

    @cached_property
    def labels(self) -> list[str]:
        """The labels of config.json by index; by default LABEL_0, LABEL_1, …"""
        named = self.reader.settings.get("id2label") or {}
        count = self.reader.model.config.labels
        return [str(named.get(str(i), f"LABEL_{i}")) for i in range(count)]
