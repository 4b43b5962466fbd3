"""A pretrained encoder with its tokenizer: texts to functions of their hidden states."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import Any, ClassVar, TypeVar

import torch
from torch import Tensor

from clearhead.decoding.precision import Precision, in_precision
from clearhead.decoding.readable import batches_by_tokens
from clearhead.errors import UserError
from clearhead.pipelines import engines
from clearhead.pipelines.factory import ModelPipeline
from clearhead.text.esm_alphabet import EsmAlphabet, upper_case

# Tokens per batch. On a CPU so few keep the activations in its cache; a GPU needs more.
BATCH_TOKENS_ON_CPU, BATCH_TOKENS_ON_GPU = 1024, 16384
FEW_TOKENS = 64  # fewer are not worth another core

Result = TypeVar("Result")
Encode = Callable[[Sequence[engines.Text]], Iterator[engines.Block]]
# (texts, length) ids and (texts, length, d_model) hidden states -> a result for every text
Take = Callable[[Tensor, Tensor], Sequence[Result]]


class TextModel(engines.PretrainedReader):
    """The common part of fill-mask, embedding and classification.

    Texts are processed in batches of similar length; the results are in the order of the texts.
    The result of a text does not depend on the other texts, except for rounding.
    """

    kinds, fails, needed = ("bert", "esm"), "is no encoder", "this needs a BERT or an ESM-2"

    model: engines.EncoderModel
    encode: Encode

    def use_readable(self, precision: Precision) -> None:
        """As `PretrainedReader.use_readable`."""
        self.model, self.threads = in_precision(self.model, precision), 1
        self.encode = partial(engines.encode, self.model)

    def use_native(self, int8: bool, threads: int) -> None:
        """As `PretrainedReader.use_native`."""
        self.encode, self.threads = engines.NativeEncoder(self.model, int8), threads

    @property
    def settings(self) -> dict[str, Any]:
        """The content of the model's config.json."""
        origin = getattr(self.model, "origin", None)
        return dict(origin.config) if origin else {}

    def spelled(self, text: str) -> str:
        """A text as it is tokenized: lower-case residues are residues, as where FASTA is read."""
        return upper_case(text) if isinstance(self.tokenizer, EsmAlphabet) else text

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

    def read(self, texts: Sequence[engines.Text], take: Take[Result]) -> list[Result]:
        """The result of every text, in order."""
        lengths = [len(text.ids) for text in texts]
        device = next(self.model.parameters()).device
        budget = BATCH_TOKENS_ON_CPU if device.type == "cpu" else BATCH_TOKENS_ON_GPU
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
    needs: ClassVar[tuple[str, str]]  # the head of the model, and the name of the task

    def __init__(self, reader: TextModel, truncate: bool = False) -> None:
        self.reader, self.truncate = reader, truncate
        self.head = reader.head(*self.needs)

    @cached_property
    def labels(self) -> list[str]:
        """The labels of config.json by index; by default LABEL_0, LABEL_1, …"""
        named = self.reader.settings.get("id2label") or {}
        count = self.reader.model.config.labels
        return [str(named.get(str(i), f"LABEL_{i}")) for i in range(count)]
