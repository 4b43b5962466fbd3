"""The inside of the restricted process: load an answer, run the probe, send what is seen."""

import ast
import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from clearhead.learn.failures import failure, open_blanks, syntax_error
from clearhead.learn.hidden import hide
from clearhead.learn.manifest import Exercise, course
from clearhead.learn.observe import load_text, names_of, observe, probe_of
from clearhead.learn.run import Run
from clearhead.learn.sandbox import allow_more_time, restrict
from clearhead.learn.texts import solution

FILENAME = "your answer"


def run_restricted(text: str, exercise_name: str, folder: Path, output: int) -> None:
    """Restrict this process, run the answer, and write the result as JSON."""
    exercise = course().exercise(exercise_name)
    solution(exercise.subject)  # read the sources before reading is restricted
    hide(exercise)
    restrict(folder, output)
    warnings.simplefilter("ignore")
    result = run_answer(text, exercise, allow_more_time)
    with os.fdopen(output, "w", encoding="utf-8") as stream:
        json.dump(result, stream)


def run_answer(
    text: str, exercise: Exercise, before_order: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """Every case, in every order of weights that fits, or the error that prevents it."""
    try:
        ast.parse(text, FILENAME)
    except SyntaxError as error:
        if blank := open_blanks(text):
            return {"failed": {"error": blank, "type": "Blank", "line": 0}}
        return {"failed": syntax_error(error)}
    except (ValueError, RecursionError, MemoryError) as error:
        return {"failed": failure(error, FILENAME)}
    if blank := open_blanks(text):
        return {"failed": {"error": blank, "type": "Blank", "line": 0}}
    try:
        names = vars(load_text(text, FILENAME))
    except BaseException as error:  # noqa: BLE001 - also SystemExit and KeyboardInterrupt
        return {"failed": failure(error, FILENAME)}
    return run_names(completed(names, exercise), exercise.subject, before_order)


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
    names: dict[str, Any], subject_name: str, before_order: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """The records of every order of weights, and the biases that the answer does not have."""
    torch.set_default_dtype(torch.float32)  # whatever the answer set
    orders, adapted, order, ways = [], set(), 0, 1
    while order < ways:
        before_order()
        records = []
        for sizes in probe_of(subject_name).cases:
            run = Run(names, names_of(subject_name), sizes, torch.float32, order)
            records.append(_guarded(run, subject_name))
            adapted |= run.adapted
            ways = max(ways, run.ways)
        orders.append(records)
        order += 1
    return {"orders": orders, "adapted": sorted(adapted)}


def _guarded(run: Run, subject_name: str) -> dict[str, Any]:
    try:
        return observe(run, subject_name, FILENAME)
    except (SystemExit, KeyboardInterrupt) as error:
        return failure(error, FILENAME, run)
