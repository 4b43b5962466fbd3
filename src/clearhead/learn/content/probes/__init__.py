"""Probes run an answer and record what can be seen of it; one function for each subject.

A probe receives a `Run` and is called once for each case, a choice of sizes that are all
different, batch 1 included. Importing this package registers every probe.
"""

import math

from clearhead.learn.content.probes import attention, biology, decoding, layers, stacks, training
from clearhead.learn.run import Run, probe

__all__ = ["attention", "biology", "decoding", "layers", "stacks", "training", "values"]

PLAIN = (int, float, str, bool, tuple)


@probe()
def values(run: Run) -> None:
    """Predictions and quizzes: every plain value that the reference assigns, under its name."""
    for name, value in run.reference.items():
        if isinstance(value, PLAIN) and not name.startswith("_"):
            found = run.get(name)
            if math.prod(getattr(found, "shape", (0,))) == 1:  # torch.log(…), np.prod(…)
                found = found.item()
            if isinstance(found, str) and isinstance(value, str):  # "B" or "b)" for "b"
                found = found.strip(" ().").lower()
            run.seen[name] = tuple(found) if isinstance(found, list) else found
