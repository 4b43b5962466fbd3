"""The probe of predictions and quizzes: the values that the answer assigns."""

from clearhead.learn.probes.registry import probe
from clearhead.learn.run import Run

PLAIN = (int, float, str, bool, tuple)


@probe()
def values(run: Run) -> None:
    """Every plain value that the reference assigns, under the same name in the answer."""
    for name, value in run.reference.items():
        if isinstance(value, PLAIN) and not name.startswith("_"):
            found = run.get(name)
            run.seen[name] = tuple(found) if isinstance(found, list) else found
