"""The inside of the restricted process: load an answer, run the probe, send what is seen.

An answer runs in the process of the probe, and the library's source is public, so that a copy of
it cannot be told from an answer. But nothing that was not written passes: an import, an empty
subclass or a call of the library's own function is refused.
"""

import ast
import inspect
import json
import linecache
import os
import sys
import warnings
from collections.abc import Callable
from functools import reduce
from importlib import import_module
from importlib.util import cache_from_source
from pathlib import Path
from types import FunctionType
from typing import Any, NoReturn, ParamSpec, cast

import torch

import clearhead
from clearhead.learn.failures import failure, open_blanks, without_return
from clearhead.learn.manifest import Exercise, course, subject, texts
from clearhead.learn.observe import load_text, names_of, observe, probe_of
from clearhead.learn.run import Run
from clearhead.learn.sandbox import COURSE, allow_more_time, restrict
from clearhead.learn.source import address_name
from clearhead.learn.texts import solution

FILENAME = "your answer"
P = ParamSpec("P")


def run_restricted(text: str, exercise_name: str, folder: Path, output: int) -> None:
    """Restrict this process, run the answer, and write the result as JSON."""
    exercise = course().exercise(exercise_name)
    _ = solution(exercise.subject), texts()  # before reading is restricted
    restrict(folder, output, hide(exercise))
    warnings.simplefilter("ignore")
    result = run_answer(text, exercise, allow_more_time)
    with os.fdopen(output, "w", encoding="utf-8") as stream:
        json.dump(result, stream)


def hide(exercise: Exercise) -> list[Path]:
    """Hide from this process what an answer could copy instead of computing it, for good.

    Returns:
        The files of the solution, from which an answer could load it again.
    """
    for path in exercise.asked_paths():
        _disable(exercise.subject, path)
    modules = {address.partition(":")[0] for address in subject(exercise.subject).source}
    files = [str(import_module(module).__file__) for module in modules]
    _empty(names_of(exercise.subject))
    linecache.clearcache()
    for name in [n for n in sys.modules if n == COURSE or n.startswith(COURSE + ".")]:
        del sys.modules[name]
    sys.modules.pop("__main__", None)
    vars(clearhead).pop("learn", None)
    return [Path(path) for file in files for path in (file, cache_from_source(file))]


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


def run_answer(
    text: str, exercise: Exercise, before_order: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """Every case, in every order of weights that fits, or the error that prevents it."""
    if blank := open_blanks(text):
        return {"failed": {"error": blank}}
    try:
        names = vars(load_text(text, FILENAME))
    except BaseException as error:  # noqa: BLE001 - also SystemExit and KeyboardInterrupt
        return {"failed": failure(error, FILENAME)}
    given = exercise.kind != "write"
    result = run_names(completed(names, exercise), exercise.subject, before_order, given)
    missing = without_return(text, solution(exercise.subject))
    return {"failed": missing} if missing and _gave_none(result["orders"][0]) else result


def _gave_none(records: list[dict[str, Any]]) -> bool:
    """Whether every error is about None; without an error, whether None was returned."""
    errors = [str(record["raw"]) for record in records if "raw" in record]
    if errors:
        return all("None" in error for error in errors)
    return any(value is None for record in records for value in record.values())


def completed(names: dict[str, Any], exercise: Exercise) -> dict[str, Any]:
    """The answer's names, and the definitions that the exercise does not ask for.

    These are run with the answer's own definitions in place of the library's. A function that
    the answer defines as a static method of a class is found there.
    """
    tree = ast.parse(solution(exercise.subject))
    wanted = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    for name in wanted:
        inside = (vars(v).get(name) for v in [*names.values()] if isinstance(v, type))
        if found := next((f.__func__ for f in inside if isinstance(f, staticmethod)), None):
            names.setdefault(name, found)
    asked = exercise.asked()
    if not asked & names.keys():
        return names
    around = {**names_of(exercise.subject), **names}
    for name, node in wanted.items():
        if name not in {*names, *asked}:
            exec(compile(ast.Module([node], []), f"<{name}>", "exec"), around)
            names[name] = around[name]
    return names


def run_names(
    names: dict[str, Any], subject_name: str, before_order: Callable[[], None] = lambda: None,
    given: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """The records of every order of weights, and the biases that the answer does not have."""
    torch.set_default_dtype(torch.float32)  # whatever the answer set
    orders, adapted, order, ways = [], set(), 0, 1
    while order < ways:
        before_order()
        records = []
        for sizes in probe_of(subject_name).cases:
            run = Run(names, names_of(subject_name), sizes, order=order, given=given)
            try:
                records.append(observe(run, subject_name, FILENAME))
            except SystemExit as error:
                records.append(failure(error, FILENAME, run))
            adapted |= run.adapted
            ways = max(ways, run.ways)
        orders.append(records)
        order += 1
    return {"orders": orders, "adapted": sorted(adapted)}
