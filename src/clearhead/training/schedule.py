"""How the learning rate moves: a warm-up, then one of four ways down."""

import math
from collections.abc import Callable
from typing import Literal

Shape = Literal["paper", "inverse_sqrt", "cosine", "trapezoid", "constant"]
Schedule = Callable[[int], float]
# The last part of a trapezoid run falls to zero.
COOLDOWN = 0.3


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
    ways: dict[str, Schedule] = {
        "paper": lambda s: d_model**-0.5 * warmup**-0.5 * min((warmup / s) ** 0.5, s / warmup),
        "inverse_sqrt": lambda s: min(s / warmup, (warmup / s) ** 0.5),
        "cosine": lambda s: min(
            s / warmup, 0.5 + 0.5 * math.cos(math.pi * _after(s, warmup, steps))
        ),
        "trapezoid": lambda s: min(s / warmup, 1.0, max(0.0, steps - s + 1) / (COOLDOWN * steps)),
        "constant": lambda s: min(s / warmup, 1.0),
    }
    return lambda step: peak * ways[shape](step)


def _after(step: int, warmup: int, steps: int) -> float:
    """The share of the way from the warm-up's end to the last step."""
    return min(1.0, max(0.0, (step - warmup) / max(1, steps - warmup)))
