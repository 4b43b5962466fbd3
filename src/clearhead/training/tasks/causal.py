"""Learning to say what comes next: plain text, a `Gpt`, perplexity and bits a byte."""

import math
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from clearhead.data.blocks import BlockBatches, BlockPlan, Blocks
from clearhead.models import Gpt, GptConfig
from clearhead.pretrained import save_pretrained
from clearhead.text.fast_tokenizer import FastTokenizer
from clearhead.text.learning import learn_byte_level, save_older_layout
from clearhead.training.continuing import continued
from clearhead.training.judging import in_peace
from clearhead.training.language_model import begun_model, check_language
from clearhead.training.language_objective import causal_loss
from clearhead.training.language_recipe import CausalRecipe
from clearhead.training.language_text import Layout, prepare_dev, prepare_ribbon, prepare_tokenizer
from clearhead.training.objective import Losses
from clearhead.training.precision import Ground
from clearhead.training.run_directory import RunDirectory
from clearhead.training.task import Score, Verdict, Words

LAYOUT = Layout(learn_byte_level, FastTokenizer.byte_level)
ABOUT = """\
A GPT-2 trained with clearhead; use it with `clearhead generate --model DIRECTORY`, or load the
directory with `transformers`."""
WORDS = Words(
    "Language model",
    ABOUT,
    "texts",
    "clearhead generate --model",
    Score("bits_per_byte", "bits a byte", "Bits a byte", 3),
)
PROMPT, LONGEST = 16, 40  # tokens of a sample that are given, and that are drawn


class Causal:
    """Every token from the tokens before it."""

    words = WORDS

    def __init__(self, recipe: CausalRecipe, run: RunDirectory, ground: Ground) -> None:
        self.tokenizer = prepare_tokenizer(recipe, run, LAYOUT)
        self.sign = self.tokenizer.signs["eos"]
        self.model = begun_model(recipe, run, Gpt, lambda: Gpt.from_config(self._config(recipe)))
        encode, vocab_size = self.tokenizer.encode_batch, self.tokenizer.vocab_size
        ribbon = prepare_ribbon(recipe, run, encode, self.sign, vocab_size)
        length = min(recipe.model.seq_len, self.model.config.seq_len)
        rows = max(1, recipe.run.batch_tokens // length)
        self.batches = BlockBatches(ribbon, BlockPlan(length, 1, rows, recipe.run.seed))
        self.dev = CausalDev(prepare_dev(recipe, run), self.tokenizer, self.batches.plan)

    @classmethod
    def check(cls, recipe: CausalRecipe) -> None:
        """Refuse texts that are not there and sizes that do not fit each other."""
        check_language(recipe, GptConfig)

    def losses(self, model: Gpt, batch: Blocks) -> Losses:
        """Cross-entropy of every next token."""
        return causal_loss(model, batch.ids)

    def judge(self, model: Gpt, samples: int) -> Verdict:
        """Perplexity, bits a byte, and how the model continues some texts."""
        with in_peace(model):
            return self.dev.judge(model, samples)

    def save(self, model: Gpt, directory: Path) -> None:
        """What `clearhead generate` and `transformers` load."""
        save_pretrained(model, directory, torch.float32)
        self.tokenizer.save(directory)
        save_older_layout(directory)

    def blank(self) -> Gpt:
        """Readable parts only."""
        return Gpt.from_config(self.model.config)

    def introduction(self) -> str:
        """How much text, how many pieces."""
        ribbon = self.batches.corpus
        return (
            f"{ribbon.texts:,} texts, {ribbon.tokens:,} tokens in {self.batches.blocks:,} blocks, "
            f"vocabulary {self.tokenizer.vocab_size:,}"
        )

    def _config(self, recipe: CausalRecipe) -> GptConfig:
        m = recipe.model
        return GptConfig(
            vocab_size=self.tokenizer.vocab_size,
            seq_len=m.seq_len,
            d_model=m.d_model,
            layers=m.layers,
            h=m.h,
            d_ff=m.d_ff,
            dropout=m.dropout,
            attention_dropout=m.dropout,
            embedding_dropout=m.dropout,
            activation=m.activation,
            bos_id=self.sign,
            eos_id=self.sign,
        )


class CausalDev:
    """Some texts, packed as for training: whole rows, each token predicted once."""

    def __init__(self, texts: list[str], tokenizer: FastTokenizer, plan: BlockPlan) -> None:
        self.texts, self.tokenizer, self.rows = texts, tokenizer, plan.rows
        self.sign = tokenizer.signs["eos"]
        self.ids = tokenizer.encode_batch(texts)
        ribbon = [i for row in self.ids for i in (self.sign, *row)] + [self.sign]
        self.blocks = _cut(np.array(ribbon, dtype=np.int64), plan.length)
        # The sign after a text counts as one byte, as a line end would.
        self.bytes = sum(len(text.encode("utf-8")) + 1 for text in texts)

    def judge(self, model: Gpt, samples: int) -> Verdict:
        """As `Causal.judge`."""
        total, tokens = 0.0, 0
        for start in range(0, len(self.blocks), self.rows):
            losses = causal_loss(model, self.blocks[start : start + self.rows])
            total, tokens = total + float(losses.nll), tokens + losses.tokens
        bits = total / math.log(2) / self.bytes
        shown = [self._sample(model, number) for number in range(min(samples, len(self.texts)))]
        return Verdict(total / tokens, len(self.texts), {"bits_per_byte": bits}, shown)

    def _sample(self, model: Gpt, number: int) -> str:
        """The beginning of a text, and how the model goes on."""
        ids = self.ids[number]
        given = ids[: max(1, min(PROMPT, len(ids) // 3))]
        whole = continued(model, given, LONGEST, self.sign, seed=number)
        return f"{self.tokenizer.decode(given)} → {self.tokenizer.decode(whole[len(given) :])}"


def _cut(ribbon: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """(tokens) -> (rows, length + 1), each row beginning with the last token of the one before."""
    rows = -(-(len(ribbon) - 1) // length)
    filled = np.full(rows * length + 1, -1, dtype=np.int64)
    filled[: len(ribbon)] = ribbon
    return np.stack([filled[k * length : (k + 1) * length + 1] for k in range(rows)])
