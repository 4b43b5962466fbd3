"""What one step measured, and the sums of many."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class StepReport:
    """What one optimiser step measured."""

    step: int
    epoch: int
    loss: float  # smoothed, nats a token
    nll: float  # plain, nats a token
    lr: float
    grad_norm: float  # before clipping
    tokens: int  # that were predicted
    seconds: float
    finite: bool  # False: the step was skipped


@dataclass
class Meter:
    """Sums since the last line of the log.

    They are part of the checkpoint: the line after a resume is the one that an
    uninterrupted run would have written.
    """

    loss: float = 0.0
    nll: float = 0.0
    counted: int = 0  # tokens of the steps that were not skipped
    tokens: int = 0
    steps: int = 0
    seconds: float = 0.0

    def add(self, report: StepReport) -> None:
        """Count a step; what a skipped one measured is left out of the means."""
        self.tokens += report.tokens
        self.steps += 1
        self.seconds += report.seconds
        if report.finite:
            self.loss += report.loss * report.tokens
            self.nll += report.nll * report.tokens
            self.counted += report.tokens

    def values(self) -> dict[str, float]:
        """Means; NaN where every step was skipped."""
        tokens = self.counted or math.nan
        return {
            "loss": self.loss / tokens,
            "ppl": perplexity(self.nll / tokens),
            "tokens_per_second": self.tokens / max(self.seconds, 1e-9),
        }


def perplexity(nats: float) -> float:
    """exp of the loss a token; a hopeless model's does not overflow."""
    return math.exp(min(50.0, nats)) if nats == nats else math.nan


def clock(seconds: float) -> str:
    """12:34 or 1:02:03."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
