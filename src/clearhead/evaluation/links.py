"""Links between words, counted right and wrong."""

from collections.abc import Iterable

import torch
from torch import Tensor

Links = Iterable[tuple[int, int]]


def links_as_matrix(sure: Links, possible: Links, target_words: int, source_words: int) -> Tensor:
    """(source word, target word) pairs as a matrix: 2 = sure, 1 = only possible, 0 = no link.

    Shape: -> (target words, source words), float32
    """
    matrix = torch.zeros(target_words, source_words)
    for worth, links in ((1.0, possible), (2.0, sure)):
        for source, target in links:
            matrix[target, source] = worth
    return matrix


class LinkCount:
    """|A ∩ S| + |A ∩ P|, |A| and |S| over a corpus, for many aligners at once.

    Both S and P in one matrix: a link counts 2 if it is sure (and so possible, too), 1
    if it is only possible, 0 if it is wrong.
    """

    def __init__(self) -> None:
        self.right, self.found, self.sure = torch.zeros(()), 0, 0

    def add(self, looks: Tensor, truth: Tensor, said: Tensor) -> None:
        """One sentence: each target word that is `said` is linked to where it looks most.

        A word that no piece belongs to is not said, and gets no link.

        Shapes: looks (..., target words, source words), truth (target words, source
        words) of 0, 1 and 2, said (target words,) bool
        """
        self.sure += int((truth == 2).sum())
        if truth.numel():
            chosen = looks.argmax(dim=-1, keepdim=True)  # (..., target words, 1)
            right = truth.expand(looks.shape).gather(-1, chosen).squeeze(-1)
            self.right = self.right + (right * said).sum(dim=-1)
            self.found += int(said.sum())

    def error(self) -> Tensor:
        """AER of each aligner, from 0 to 1; 0 where there was nothing to find and nothing found."""
        links = self.found + self.sure
        return 1 - self.right / links if links else torch.zeros(())
