"""What a search brings home."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Hypothesis:
    """One translation in ids, end sign left out.

    `score` is its true log-probability, the sum over its tokens and its end sign
    (NaN if the caller asked for no scores); `normalized` is what hypotheses are
    ranked by; `finished` is False where the length limit came before the end sign.
    """

    ids: list[int]
    score: float
    normalized: float
    finished: bool

    @property
    def rank(self) -> tuple[bool, float]:
        """Larger is better; the unfinished stand behind all the finished."""
        return self.finished, self.normalized


def normalize(score: float, length: int, length_penalty: float) -> float:
    r"""The score by which translations of different lengths are compared.

    .. math:: \text{score} / \text{length}^{\alpha}

    with alpha the length penalty and the length in tokens, end sign included. A sum of
    log-probabilities falls with every token; alpha = 0 leaves it so and prefers
    short translations, alpha = 1 compares the mean per token, a larger alpha
    prefers long ones. (Transformers and CTranslate2 use this formula; Wu et al. 2016,
    equation 14, divide by ((5 + length) / 6)^alpha instead.)
    """
    return score / length**length_penalty
