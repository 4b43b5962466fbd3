"""The two ingredients of BLEU (Papineni et al. 2002)."""

import math
from collections import Counter


def clipped_precision(hypothesis: list[str], reference: list[str], n: int) -> float:
    """The share of the hypothesis' n-grams that occur in the reference.

    An n-gram counts at most as often as the reference has it. No n-grams give 0.
    """
    ours = Counter(tuple(hypothesis[i : i + n]) for i in range(len(hypothesis) - n + 1))
    theirs = Counter(tuple(reference[i : i + n]) for i in range(len(reference) - n + 1))
    matches = sum(min(count, theirs[gram]) for gram, count in ours.items())
    return matches / max(1, sum(ours.values()))


def brevity_penalty(hypothesis_length: int, reference_length: int) -> float:
    """1 for a hypothesis that is not too short, else exp(1 - reference / hypothesis)."""
    if hypothesis_length >= reference_length:
        return 1.0
    return math.exp(1 - reference_length / max(1, hypothesis_length))
