"""Numbers as labels: what a model learns of them, and how its answer becomes one again."""

import numpy as np
from numpy.typing import NDArray

from clearhead.biology.examples import Parts, numbers_of
from clearhead.errors import UserError

Floats = NDArray[np.float64]
Scale = tuple[float, float, float]  # mean, deviation, what is added before the logarithm (0: none)


def scale_of(parts: Parts, logarithm: str) -> Scale:
    """The scale of numbers in the training data: see `standardized`; neutral for classes.

    The logarithm makes effects that multiply each other add up, as those of mutations do. It is
    taken of numbers with a long right tail (skewness above 1); what is added to them first is a
    hundredth of the largest, so that zeros have a logarithm.
    """
    if parts.labels:
        return 0.0, 1.0, 0.0
    values = np.sort(numbers_of(parts.training_data))  # sums do not depend on the order
    deviations = (values - values.mean()) / (values.std() or 1.0)
    lowest = min([values.min(), *numbers_of(parts.dev)])  # a file of its own may have lower ones
    skewed = lowest >= 0 and (deviations**3).mean() > 1
    taken = logarithm == "yes" or (logarithm == "auto" and skewed)
    added = float(values.max()) / 100 if taken else 0.0
    if added and lowest <= -added:
        raise UserError("model.logarithm=yes needs labels of 0 or more; give model.logarithm=no")
    learned = standardized(values, (0.0, 1.0, added))
    return float(learned.mean()), float(learned.std()) or 1.0, added


def standardized(values: Floats, scale: Scale) -> Floats:
    """Numbers as a model learns them; `scale` is mean, deviation, and what the logarithm adds."""
    mean, deviation, added = scale
    return ((np.log(values + added) if added else values) - mean) / deviation


def in_units(learned: Floats, scale: Scale) -> Floats:
    """The inverse of `standardized`."""
    mean, deviation, added = scale
    values = learned * deviation + mean
    return np.exp(values) - added if added else values
