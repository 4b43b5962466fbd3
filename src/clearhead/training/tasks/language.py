"""What learning to foresee words and learning to find hidden ones have in common."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import torch

from clearhead.data.blocks import BlockBatches
from clearhead.data.hidden import HiddenBatches
from clearhead.decoding.search import in_eval_mode
from clearhead.models import Bert, BertConfig, Gpt, GptConfig
from clearhead.text.fast_tokenizer import FastTokenizer
from clearhead.training.causal_dev import CausalDev
from clearhead.training.language_model import check_language, save_language_model
from clearhead.training.language_recipe import LanguageRecipe
from clearhead.training.masked_dev import MaskedDev
from clearhead.training.objective import Losses
from clearhead.training.task import Verdict


class Language(ABC):
    """Plain text and nothing else; a subclass says which words are to be guessed."""

    config: ClassVar[type[GptConfig] | type[BertConfig]]

    tokenizer: FastTokenizer
    model: Gpt | Bert
    batches: BlockBatches | HiddenBatches
    dev: CausalDev | MaskedDev

    @classmethod
    def check(cls, recipe: LanguageRecipe) -> None:
        """Refuse texts that are not there and sizes that do not fit each other."""
        check_language(recipe, cls.config)

    @abstractmethod
    def losses(self, model: Any, batch: Any) -> Losses:
        """Cross-entropy of what is to be guessed."""

    def judge(self, model: Any, samples: int) -> Verdict:
        """Perplexity, the task's own measure, and what the model says to some texts."""
        with in_eval_mode(model), torch.inference_mode():
            return self.dev.judge(model, samples)

    def save(self, model: Any, directory: Path) -> None:
        """What `clearhead` and `transformers` load."""
        save_language_model(model, self.tokenizer, directory)

    def blank(self) -> Any:
        """Readable parts only."""
        config: Any = self.model.config
        return type(self.model).from_config(config)

    def introduction(self) -> str:
        """How much text, how many pieces."""
        ribbon = self.batches.corpus
        return (
            f"{ribbon.texts:,} texts, {ribbon.tokens:,} tokens in {self.batches.blocks:,} blocks, "
            f"vocabulary {self.tokenizer.vocab_size:,}"
        )
