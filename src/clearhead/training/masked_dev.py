"""How well hidden words are found in texts that are not learned from."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from clearhead.data.masking import Masked, Vocabulary, hide
from clearhead.models import Bert
from clearhead.text.fast_tokenizer import FastTokenizer
from clearhead.training.language_objective import hidden_places, masked_loss
from clearhead.training.task import Verdict

ROWS = 64
SEED = 0  # what is hidden is the same in every evaluation of every run


class MaskedDev:
    """Texts, each in a row of its own, with words hidden once and for all.

    A text beyond the model's positions is cut: it is judged by its beginning.
    """

    def __init__(
        self, texts: list[str], tokenizer: FastTokenizer, vocabulary: Vocabulary, longest: int
    ) -> None:
        self.tokenizer, self.vocabulary, self.size = tokenizer, vocabulary, len(texts)
        rows = [ids[:longest] for ids in tokenizer.encode_batch(texts)]
        self.first = [self._hidden([row], number) for number, row in enumerate(rows[:100])]
        by_length = sorted(rows, key=len)
        self.batches = [
            self._hidden(by_length[start : start + ROWS], start)
            for start in range(0, len(rows), ROWS)
        ]

    def _hidden(self, rows: list[list[int]], seed: int) -> Masked:
        ids = np.full((len(rows), max(map(len, rows))), -1, dtype=np.int64)
        for line, row in zip(ids, rows, strict=True):
            line[: len(row)] = row
        ids, labels = hide(ids, self.vocabulary, SEED, seed)
        return Masked(np.where(ids < 0, self.tokenizer.signs["pad"], ids), labels)

    def judge(self, model: Bert, samples: int) -> Verdict:
        """Perplexity and accuracy at hidden places, and some texts with what is said there."""
        total, found, hidden = 0.0, 0, 0
        for batch in self.batches:
            losses = masked_loss(model, batch.ids, batch.labels)
            found += int((_guessed(model, batch) == batch.labels[batch.labels >= 0]).sum())
            total, hidden = total + float(losses.nll), hidden + losses.tokens
        shown = [self._told(model, text) for text in self.first[:samples]]
        return Verdict(total / hidden, self.size, {"accuracy": found / hidden}, shown)

    def _told(self, model: Bert, text: Masked) -> str:
        """The text with each hidden piece in brackets: the truth, and what was guessed instead."""
        guesses = iter(_guessed(model, text).tolist())
        told = ""
        for seen, label in zip(text.ids[0].tolist(), text.labels[0].tolist(), strict=True):
            if label < 0 and seen in self.vocabulary.signs:
                continue
            truth = self.tokenizer.piece(seen if label < 0 else label)
            piece = truth.removeprefix("##")
            told += "" if truth.startswith("##") else " "
            told += piece if label < 0 else f"[{self._compared(label, piece, next(guesses))}]"
        return told.strip()

    def _compared(self, label: int, truth: str, guess: int) -> str:
        return truth if guess == label else f"{truth} → {self.tokenizer.piece(guess)}"


def _guessed(model: Bert, batch: Masked) -> NDArray[np.int64]:
    vectors, _ = hidden_places(model, batch.ids, batch.labels)
    projection: Any = model.get_submodule("heads.masked_lm.projection")
    logits: Tensor = projection.logits(vectors)
    guesses: NDArray[np.int64] = logits.argmax(dim=-1).cpu().numpy()
    return guesses
