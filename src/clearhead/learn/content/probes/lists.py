"""Lists of numbers or texts, as probes record them."""

from collections.abc import Callable
from typing import Any

from clearhead.learn.run import detached


def listed(value: Any, kind: Callable[[Any], Any] = int) -> Any:
    """A list of numbers (or texts) as a tuple; what is no such list stays as it is."""
    try:
        return tuple(map(kind, value))
    except (TypeError, ValueError):
        return detached(value)
