"""Causal language modelling: a `Gpt` predicts each token of plain text from those before it."""

import logging
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from clearhead.data.token_stream import BlockBatches, BlockPlan, Blocks, PackedCorpus
from clearhead.decoding.engine import SamplingOptions
from clearhead.decoding.generation import generate
from clearhead.models import Gpt, GptConfig
from clearhead.text.fast_tokenizer import FastTokenizer
from clearhead.text.learning import learn_byte_level
from clearhead.training.model_recipes import LanguageRecipe, LanguageRun
from clearhead.training.objective import Ids, Losses, TokenLoss, fused_cross_entropy
from clearhead.training.task import Metric, TaskDescription, ValidationResult
from clearhead.training.tasks.language import LanguageTask, TokenizerFormat

log = logging.getLogger("clearhead.train")

ABOUT = """\
A GPT-2 trained with clearhead; use it with `clearhead generate --model DIRECTORY`, or load the
directory with `transformers`."""
LONGEST_PROMPT = 16  # tokens of a sample
# Samples come from the model's own distribution, without a cut-off.
UNRESTRICTED = SamplingOptions(max_new_tokens=40, top_k=0)


class Causal(LanguageTask):
    """Texts in a row with the EOS token between them, cut into blocks."""

    description = TaskDescription(
        "Language model",
        ABOUT,
        "tokens",
        "texts",
        "clearhead generate --model",
        Metric("bits_per_byte", "bits per byte", "Bits per byte", 3),
    )
    model_class, config_class = Gpt, GptConfig
    tokenizer_format = TokenizerFormat(learn_byte_level, FastTokenizer.byte_level, ("eos",))
    batches: BlockBatches

    def prepare_dev(self, texts: list[str]) -> None:
        """Blocks, as in training, but in order."""
        eos = self.tokenizer.special_ids["eos"]
        self.dev_ids = self.tokenizer.encode_batch(texts)
        stream = [i for ids in self.dev_ids for i in (eos, *ids)] + [eos]
        self.dev_blocks = cut_into_blocks(np.array(stream, dtype=np.int64), self.length)
        # The EOS token after a text counts as one byte, as a line end would.
        self.dev_bytes = sum(len(text.encode("utf-8")) + 1 for text in texts)

    def build_corpus(self, texts: Iterable[str], directory: Path) -> None:
        """A stream of all texts."""
        tokenizer, block = self.tokenizer, self.length + 1  # the label of the last token
        eos, size = tokenizer.special_ids["eos"], tokenizer.vocab_size
        PackedCorpus.build(texts, tokenizer.encode_batch, eos, size, directory, block)

    def open_batches(self, directory: Path, run: LanguageRun) -> BlockBatches:
        """Blocks of `length` tokens in random order."""
        self.rows = max(1, run.batch_tokens // self.length)
        if run.batch_tokens < self.length:
            log.warning(
                "run.batch_tokens=%d is less than a row of %d tokens (model.seq_len), so a batch "
                "has one row",
                run.batch_tokens,
                self.length,
            )
        plan = BlockPlan(self.length, 1, self.rows, run.seed)
        return BlockBatches(PackedCorpus.open(directory), plan)

    def summary(self) -> str:
        """The size of the corpus and of the vocabulary."""
        corpus = self.batches.corpus
        return (
            f"{corpus.texts:,} texts, {corpus.tokens:,} tokens in {self.batches.blocks:,} blocks, "
            f"vocabulary {self.tokenizer.vocab_size:,}"
        )

    def losses(self, model: Gpt, batch: Blocks) -> Losses:
        """Cross-entropy of every next token."""
        return causal_loss(model, batch.ids, self.token_loss)

    def evaluate(self, model: Gpt, samples: int) -> ValidationResult:
        """Perplexity, bits per byte, and some texts continued by the model."""
        total, tokens = 0.0, 0
        for start in range(0, len(self.dev_blocks), self.rows):
            losses = causal_loss(model, self.dev_blocks[start : start + self.rows])
            total, tokens = total + float(losses.nll), tokens + losses.tokens
        scores = {"bits_per_byte": total / math.log(2) / self.dev_bytes}
        shown = self._samples(model, self.dev_ids[:samples])
        return ValidationResult(total / tokens, len(self.dev_ids), scores, shown)

    def _samples(self, model: Gpt, texts: list[list[int]]) -> list[str]:
        """The beginnings of some texts and the model's continuations, always with one seed."""
        longest = min(LONGEST_PROMPT, model.config.seq_len)
        prompts = [ids[: max(1, min(longest, len(ids) // 3))] for ids in texts]
        if not prompts:
            return []
        found = generate(model, prompts, UNRESTRICTED)
        decode = self.tokenizer.decode
        return [
            f"{decode(prompt)} → {decode(more.ids)}"
            for prompt, more in zip(prompts, found, strict=True)
        ]

    def family_config(self, recipe: LanguageRecipe) -> dict[str, Any]:
        """Dropout of the embeddings, and the EOS token, which is also GPT-2's BOS token."""
        eos = self.tokenizer.special_ids["eos"]
        return {"embedding_dropout": recipe.model.dropout, "bos_id": eos, "eos_id": eos}


def causal_loss(model: Gpt, ids: Ids, token_loss: TokenLoss = fused_cross_entropy) -> Losses:
    """Predict every token from those before it; negative ids at the end of a row are padding.

    Shape:
        ids: (rows, seq_len + 1)
    """
    tokens = torch.from_numpy(ids).to(model.embed.embedding.weight.device)
    labels = tokens[:, 1:]
    real = labels >= 0
    # (rows, seq_len, d_model) -> (tokens, d_model)
    hidden = model(tokens[:, :-1].clamp(min=0))[real]
    loss, nll = token_loss(model.projection_layer, hidden, labels[real], 0.0)
    return Losses(loss, nll, max(1, len(hidden)))


def cut_into_blocks(stream: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """(tokens) -> (rows, length + 1), each row beginning with the last token of the one before."""
    rows = -(-(len(stream) - 1) // length)
    padded = np.full(rows * length + 1, -1, dtype=np.int64)
    padded[: len(stream)] = stream
    return np.stack([padded[k * length : (k + 1) * length + 1] for k in range(rows)])
