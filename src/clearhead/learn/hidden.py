"""What an answer cannot reach: the grader, the solution, the library's version of what it asks.

An answer runs in the process of the probe, and the library's source is public, so that a copy of
it cannot be told from an answer. But nothing that was not written passes: an import, an empty
subclass or a call of the library's own function is refused.
"""

import inspect
import linecache
import sys
from collections.abc import Callable
from functools import reduce
from importlib import import_module
from types import FunctionType
from typing import Any, NoReturn, ParamSpec, cast

import clearhead
from clearhead.learn.manifest import Exercise, subject
from clearhead.learn.observe import names_of
from clearhead.learn.sandbox import COURSE
from clearhead.learn.source import address_name

P = ParamSpec("P")


def hide(exercise: Exercise) -> None:
    """Hide from this process what an answer could copy instead of computing it, for good."""
    for path in exercise.asked_paths():
        _disable(exercise.subject, path)
    _empty(names_of(exercise.subject))
    linecache.clearcache()
    for name in [n for n in sys.modules if n == COURSE or n.startswith(COURSE + ".")]:
        del sys.modules[name]
    sys.modules.pop("__main__", None)
    vars(clearhead).pop("learn", None)


def _disable(subject_name: str, path: str) -> None:
    """Let the library's own version of what an exercise asks for raise an error."""
    first, _, rest = path.partition(".")
    address = next((a for a in subject(subject_name).source if address_name(a) == first), "")
    module, _, inside = address.partition(":")
    if not inside:  # a reference of the course, which cannot be imported
        return
    *owners, name = filter(None, [*inside.partition("(")[0].split("."), rest])
    owner = reduce(getattr, owners, import_module(module))
    found = inspect.getattr_static(owner, name)
    if isinstance(found, FunctionType) and not owners:  # other modules may have its name, too
        found.__code__ = _without_body(found).__code__
    else:
        setattr(owner, name, staticmethod(_without_body(getattr(owner, name))))


def _empty(reference: dict[str, Any]) -> None:
    """Leave of the reference what a run needs: constructors, signatures, names of values."""
    own = {n: v for n, v in reference.items() if getattr(v, "__module__", "") == "answer"}
    classes = [value for value in own.values() if isinstance(value, type)]
    for one in classes:
        for method in [
            m for m in vars(one) if not m.startswith("__") and callable(getattr(one, m))
        ]:
            setattr(one, method, _without_body(getattr(one, method)))
    if not classes:  # else a constructor may call the functions
        reference.update({name: _without_body(value) for name, value in own.items()})
    for name, value in reference.items():
        if isinstance(value, int | float | str | tuple) and not name.startswith("_"):
            reference[name] = type(value)()


def _without_body(function: Callable[P, Any]) -> FunctionType:
    """A function of the same signature that raises an error; it refers to no other name."""

    def absent(*args: P.args, **kwargs: P.kwargs) -> NoReturn:
        raise LookupError("this calls the library's own version of it; write it yourself")

    vars(absent)["__signature__"] = inspect.signature(function)
    return cast(FunctionType, absent)
