"""Learning-rate schedules: a linear warm-up, then one of five shapes."""

import math
from collections.abc import Callable
from typing import Literal

Shape = Literal["paper", "inverse_sqrt", "cosine", "trapezoid", "constant"]
Schedule = Callable[[int], float]
COOLDOWN = 0.3  # the fraction of a trapezoid run that falls linearly to zero


def make_schedule(shape: Shape, peak: float, warmup: int, steps: int, d_model: int) -> Schedule:
    r"""The learning rate of step 1, 2, … `steps`.

    ============  =================================================================
    paper         :math:`peak · d_{model}^{-0.5} \min(s^{-0.5}, s · warmup^{-1.5})`
                  (equation 3; the paper's peak factor is 1)
    inverse_sqrt  linear to `peak`, then :math:`peak \sqrt{warmup / s}`
    cosine        linear to `peak`, then half a cosine to zero at the last step
    trapezoid     linear to `peak`, level, linear to zero over the last 30 %
    constant      linear to `peak`, then level
    ============  =================================================================
    """
    warmup = max(1, warmup)
    shapes: dict[Shape, Schedule] = {
        "paper": lambda s: d_model**-0.5 * warmup**-0.5 * min((warmup / s) ** 0.5, s / warmup),
        "inverse_sqrt": lambda s: min(s / warmup, (warmup / s) ** 0.5),
        "cosine": lambda s: min(
            s / warmup, 0.5 + 0.5 * math.cos(math.pi * _after(s, warmup, steps))
        ),
        "trapezoid": lambda s: min(s / warmup, 1.0, max(0.0, steps - s + 1) / (COOLDOWN * steps)),
        "constant": lambda s: min(s / warmup, 1.0),
    }
    return lambda step: peak * shapes[shape](step)


def _after(step: int, warmup: int, steps: int) -> float:
    """The fraction of the steps after the warm-up that are done."""
    return min(1.0, max(0.0, (step - warmup) / max(1, steps - warmup)))
