"""Links between words, counted right and wrong."""

from collections.abc import Iterable

import torch
from torch import Tensor


def links_as_matrix(
    links: Iterable[tuple[int, int]], target_words: int, source_words: int
) -> Tensor:
    """(source word, target word) pairs as a matrix of 0 and 1.

    Shape: -> (target words, source words), float32
    """
    matrix = torch.zeros(target_words, source_words)
    for source, target in links:
        matrix[target, source] = 1.0
    return matrix


class LinkCount:
    """|A ∩ S|, |A| and |S| of the alignment error rate over a corpus, for many aligners at once."""

    def __init__(self) -> None:
        self.right, self.found, self.true = torch.zeros(()), 0, 0

    def add(self, looks: Tensor, truth: Tensor, said: Tensor) -> None:
        """One sentence: each target word that is `said` is linked to where it looks most.

        A word that no piece belongs to is not said, and gets no link.

        Shapes: looks (..., target words, source words), truth (target words, source
        words) of 0 and 1, said (target words,) bool
        """
        self.true += int(truth.sum())
        if truth.numel():
            chosen = looks.argmax(dim=-1, keepdim=True)  # (..., target words, 1)
            right = truth.expand(looks.shape).gather(-1, chosen).squeeze(-1)
            self.right = self.right + (right * said).sum(dim=-1)
            self.found += int(said.sum())

    def error(self) -> Tensor:
        """AER of each aligner, from 0 to 1; 0 where there was nothing to find and nothing found."""
        links = self.found + self.true
        return 1 - 2 * self.right / links if links else torch.zeros(())
