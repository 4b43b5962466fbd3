"""How well a causal model foresees texts that it does not learn from, and how it goes on."""

import math

import numpy as np
from numpy.typing import NDArray

from clearhead.data.blocks import BlockPlan
from clearhead.decoding.causal_engine import CausalEngine
from clearhead.decoding.generation import generate
from clearhead.decoding.sampling_options import SamplingOptions
from clearhead.models import Gpt
from clearhead.text.fast_tokenizer import FastTokenizer
from clearhead.training.language_objective import causal_loss
from clearhead.training.task import Verdict

PROMPT = 16  # tokens of a sample that are given, at most
# What the model itself thinks, nothing cut off.
FREELY = SamplingOptions(max_new_tokens=40, top_k=0)


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
        shown = self._samples(model, self.ids[:samples])
        return Verdict(total / tokens, len(self.texts), {"bits_per_byte": bits}, shown)

    def _samples(self, model: Gpt, texts: list[list[int]]) -> list[str]:
        """The beginnings of some texts, and how the model goes on; always the same seeds."""
        given = [ids[: max(1, min(PROMPT, len(ids) // 3))] for ids in texts]
        if not given:
            return []
        found = generate(CausalEngine.readable(model), given, FREELY)
        decode = self.tokenizer.decode
        return [
            f"{decode(prompt)} → {decode(more.ids)}"
            for prompt, more in zip(given, found, strict=True)
        ]


def _cut(ribbon: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    """(tokens) -> (rows, length + 1), each row beginning with the last token of the one before."""
    rows = -(-(len(ribbon) - 1) // length)
    filled = np.full(rows * length + 1, -1, dtype=np.int64)
    filled[: len(ribbon)] = ribbon
    return np.stack([filled[k * length : (k + 1) * length + 1] for k in range(rows)])
