"""Scores of classifiers and of predicted numbers, and probabilities that are calibrated."""

import math
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from clearhead.training.classification_metrics import ConfusionMatrix

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
TEMPERATURES = np.geomspace(0.2, 10.0, 200)
BINS = 10


def class_scores(labels: Sequence[str], truth: Ints, logits: Floats) -> dict[str, float]:
    """Accuracy, macro F1 and Matthews correlation of the likeliest classes.

    Shape:
        truth: (records,), logits: (records, classes)
    """
    return ConfusionMatrix.of(labels, truth, logits.argmax(axis=1)).metrics()


def spearman(one: Floats, other: Floats) -> float:
    """The correlation of ranks; equal values share their mean rank. 0 where a side is constant."""
    a, b = ranks(one), ranks(other)
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size else 0.0


def ranks(values: Floats) -> Floats:
    """Rank of each value from 0; equal values share the mean of their ranks."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts) - 1
    return (last - (counts - 1) / 2)[places].astype(np.float64)


def probabilities(logits: Floats, temperature: float = 1.0) -> Floats:
    """Softmax over the last axis."""
    return torch.from_numpy(logits / temperature).softmax(dim=-1).numpy()


def fit_temperature(logits: Floats, truth: Ints) -> float:
    r"""The temperature T whose probabilities fit held-out records best (Guo et al. 2017).

    .. math:: T = \arg\min_T \; (\ln T)^2 - \sum_i \log \text{softmax}(s_i / T)_{y_i}

    One number: it changes how sure a model is, never which class it names. The first term is a
    log-normal prior; without it, a few records that are all correct would give T = 0.
    """
    scores, labels = torch.from_numpy(logits), torch.from_numpy(truth)
    losses = [
        math.log(t) ** 2 + float(F.cross_entropy(scores / t, labels, reduction="sum"))
        for t in TEMPERATURES.tolist()
    ]
    return float(TEMPERATURES[int(np.argmin(losses))])


def reliability(chances: Floats, truth: Ints) -> tuple[Floats, float]:
    """Rows of (mean probability, share correct, records) by ten bins, and the calibration error.

    The error is the mean distance of the two, weighted by records (expected calibration error).

    Shape:
        chances: (records, classes), truth: (records,) -> (bins, 3), a number
    """
    sure, right = chances.max(axis=1), chances.argmax(axis=1) == truth
    bins = np.minimum((sure * BINS).astype(int), BINS - 1)
    rows = [
        (sure[bins == b].mean(), right[bins == b].mean(), (bins == b).sum())
        for b in range(BINS)
        if (bins == b).any()
    ]
    table = np.array(rows, dtype=np.float64)
    error = float(np.abs(table[:, 0] - table[:, 1]) @ table[:, 2] / len(truth))
    return table, error
