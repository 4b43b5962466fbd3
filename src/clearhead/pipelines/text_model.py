"""A pretrained encoder and its tokenizer: texts in, what is made of their hidden states out."""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import torch
from torch import Tensor

from clearhead.decoding.batching import batches_by_tokens
from clearhead.decoding.precision import say_if_widened
from clearhead.decoding.side_by_side import side_by_side
from clearhead.errors import UserError
from clearhead.fast import accelerate
from clearhead.fast.accelerate import twins_for
from clearhead.fast.processor import multiplies_bfloat16
from clearhead.models import Bert, Esm
from clearhead.pipelines.encoding import EncoderModel, Precision, Text, encoding_of
from clearhead.pretrained import load
from clearhead.text import PretrainedTokenizer
from clearhead.training.precision import choose_device
from clearhead.translation.location import best_of_run
from clearhead.translation.threads import use_threads

logger = logging.getLogger(__name__)

# Tokens that are computed together: what they become between two products stays in the cache.
# A GPU wants more at once.
BATCH_TOKENS = {"cpu": 1024}
ON_A_GPU = 16384
WORTH_A_CORE = 64  # tokens

Result = TypeVar("Result")
# (texts, length) ids and (texts, length, d_model) hidden states -> a result for every text
Take = Callable[[Tensor, Tensor], Sequence[Result]]


class TextModel:
    """What fill-mask, embedding and classification have in common.

    Texts are sorted by length and read in batches by tokens, on a processor one batch a core;
    results come back in the order of the texts. A text's result does not depend on its company
    (but for the last bits of a float).
    """

    def __init__(
        self, model: EncoderModel, tokenizer: PretrainedTokenizer, precision: Precision = "float32"
    ) -> None:
        self.model, self.tokenizer = model.eval(), tokenizer
        self.encoding = encoding_of(model, precision)
        self.device = next(model.parameters()).device

    @classmethod
    def from_pretrained(
        cls,
        source: str | Path,
        device: str = "auto",
        threads: int | None = None,
        precision: Precision | Literal["auto"] = "float32",
    ) -> Self:
        """From a directory, a training run, or a name on the hub; auto is bfloat16 where that pays.

        Raises:
            UserError: there is no model, it is damaged or of another kind, its tokenizer belongs
                to another, or the device or precision is absent.
        """
        use_threads(threads)
        target = choose_device(device)
        model, tokenizer = load(best_of_run(source))
        if not isinstance(model, EncoderModel):
            raise UserError(
                f"{source} holds a {type(model).__name__}, which writes; expected a model that "
                f"reads: {' or '.join(kind.__name__ for kind in (Bert, Esm))}"
            )
        if target.type != "cpu":
            model = accelerate(model, twins_for(target)).to(target)
        if precision == "auto":
            native = target.type == "cpu" and multiplies_bfloat16(target)
            precision = "bfloat16" if native else "float32"
            logger.info("reading in %s", precision)
        say_if_widened(precision, target)
        return cls(model, tokenizer, precision)

    @property
    def settings(self) -> dict[str, Any]:
        """What the model's config.json said."""
        origin = getattr(self.model, "origin", None)
        return dict(origin.config) if origin else {}

    def head(self, name: str, task: str) -> Callable[[Tensor], Tensor]:
        """One of the model's heads.

        Raises:
            UserError: it has none of that name; the task and those that it has are named.
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
        found: dict[int, Result] = {}
        cores = torch.get_num_threads() if self.device.type == "cpu" else 1
        total = sum(len(text.ids) for text in texts)
        most = BATCH_TOKENS.get(self.device.type, ON_A_GPU)
        budget = max(WORTH_A_CORE, min(most, -(-total // cores)))
        batches = deque(batches_by_tokens([len(text.ids) for text in texts], budget))

        def work() -> None:
            while batches:
                try:
                    rows = batches.popleft()
                except IndexError:  # another core was faster
                    return
                taken = self._read_batch([texts[row] for row in rows], take)
                found.update(zip(rows, taken, strict=True))

        workers = min(cores, len(batches))
        if workers > 1:
            side_by_side([work] * workers, batches.clear)
        else:
            with torch.inference_mode():
                work()
        return [found[number] for number in range(len(texts))]

    def _read_batch(self, batch: Sequence[Text], take: Take[Result]) -> list[Result]:
        blocks = self.encoding(batch)
        return [result for block in blocks for result in take(block.ids, block.hidden)]
