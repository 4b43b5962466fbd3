"""`check(MultiHeadAttentionBlock)` in a notebook: the exercise is found by the object's name.

The report is shown as an HTML card without scripts, in the theme of the page.
"""

import ast
import inspect
import json
import re
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from html import escape
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

import torch

from clearhead.errors import UserError
from clearhead.learn.answer import completed, run_names
from clearhead.learn.grading import grade
from clearhead.learn.manifest import CONTENT, Exercise, course, subject
from clearhead.learn.report import Report
from clearhead.learn.source import BLANK, address_name
from clearhead.learn.texts import assess, model_answer, starting_code, variable_of

DEFINES = re.compile(r"^(?:(?:def|class) (\w+)|(\w+) *=(?!=))", re.MULTILINE)
_CHECKED: WeakKeyDictionary[Any, str] = WeakKeyDictionary()  # each definition, and its exercise


@dataclass(frozen=True)
class Checked:
    """A report as a notebook shows it: a card, or its text.

    `after` is what the learner reads when she has passed: the key idea, or the model answer.
    """

    title: str
    report: Report
    after: str = ""

    @property
    def passed(self) -> bool:
        """Whether every check passed."""
        return self.report.passed

    def _repr_html_(self) -> str:
        return card(self.report, self.title, self.after)

    def __repr__(self) -> str:
        return f"{self.title}: {self.report}\n{self.after}".rstrip()


def check(answer: type | Callable[..., Any] | str = "", exercise: str | None = None) -> Checked:
    """Check a class or a function, or what the notebook defines for an exercise.

        check()               # the exercise of this cell, or of the last one that was run
        check(MultiHeadAttentionBlock)
        check("one-hot-norm")
        check("why-keys")     # a written task: the text in the variable why_keys

    The answer runs in this process, as the cell itself did. Other definitions that the
    exercise needs are taken from the answer's own module. A definition that was checked for one
    exercise does not count for another one, unless it is given itself: `check(attention, "scale")`.

    Raises:
        UserError: no exercise asks for an object of this name, or the object has no name, or
            `check()` finds no cell with an answer, or one for several exercises.
    """
    if not exercise and not hasattr(answer, "__name__") and not isinstance(answer, str):
        raise UserError(f"{answer!r} is no class or function; give one, or an exercise's name")
    answer = answer or exercise or _last_run()
    name = exercise or (answer if isinstance(answer, str) else "")
    found = course().exercise(name) if name else exercise_for(getattr(answer, "__name__", ""))
    names = dict(_names(answer))
    if found.kind == "written":
        text = str(names.get(variable_of(found), "")).replace(BLANK, "")
        report, after = assess(found, text), model_answer(found)
    elif reason := _not_run(found, names, isinstance(answer, str)):
        report, after = Report(found.name, error=reason), ""
    else:
        report = _graded(found, names)
        if found.kind == "bug" and _unedited(found, names):
            report = replace(report, mistakes=())  # the name of the mistake would be the answer
        after = found.key_idea
    title = f"{course().number(found)} {found.title}"
    return Checked(title, report, after if report.passed else "")


def _graded(exercise: Exercise, names: dict[str, Any]) -> Report:
    """The report on what the notebook defines, whatever its own settings of PyTorch are.

    Known mistakes run here too, and their warnings would say what they are.
    """
    dtype = torch.get_default_dtype()
    with warnings.catch_warnings(), torch.enable_grad(), torch.device("cpu"):
        warnings.simplefilter("ignore")
        whole, given = completed(names, exercise), exercise.kind != "write"
        try:
            result = run_names(whole, exercise.subject, given=given)
            return grade(exercise.name, exercise.subject, json.loads(json.dumps(result)))
        finally:
            torch.set_default_dtype(dtype)  # `run_names` sets it


def _last_run() -> str:
    """The exercise of the last cell that defines an answer.

    Raises:
        UserError: there is no such cell, or several exercises ask for what it defines.
    """
    for cell in reversed(vars(sys.modules["__main__"]).get("In", ())):
        defined = {name for pair in DEFINES.findall(cell) for name in pair}
        found = [e.name for e in course().exercises if defined & _asked(e)]
        if len(found) == 1:
            return found[0]
        if calls := " or ".join(f'check("{name}")' for name in found):
            raise UserError(f"several exercises ask for what the last cell defines; write {calls}")
    raise UserError('no answer has been run; run its cell, or name it, as in check("scale")')


def _asked(exercise: Exercise) -> set[str]:
    """The names that an answer defines: functions and classes, or values to predict."""
    if not exercise.subject:
        return {variable_of(exercise)}
    values = re.findall(rf"^(\w+) = .*{BLANK}", starting_code(exercise), re.MULTILINE)
    return exercise.asked() or set(values)


def _not_run(exercise: Exercise, names: dict[str, Any], by_name: bool) -> str:
    """Why a definition is not that of the exercise's cell: this one failed, or has not been run.

    Exercises about one function share its name: what was checked as another exercise is not the
    answer to this one. IPython keeps the text of each cell that was run in `In`.
    """
    cell = f"the cell of {course().number(exercise)}"
    known = {address_name(address) for address in subject(exercise.subject).source}
    for name in [n for n in names if n in known | exercise.asked()]:
        defines = re.compile(rf"^ *(?:def|class) {name}\b", re.MULTILINE)
        try:
            ast.parse(next(filter(defines.search, reversed(names.get("In", ()))), ""))
        except SyntaxError:
            return f"the last cell that defines {name} has a syntax error; correct and run {cell}"
        if not isinstance(names[name], FunctionType | type):
            continue
        other = course().exercise(_CHECKED.setdefault(names[name], exercise.name))
        if by_name and name in exercise.asked() and other is not exercise:
            number = course().number(other)
            return f"{name} is still the one that was checked for {number}; run {cell} first"
    return ""


def _unedited(exercise: Exercise, names: dict[str, Any]) -> bool:
    """Whether the last cell that defines what the exercise asks for is as it was handed out."""
    defines = re.compile(rf"^(?:def|class) (?:{'|'.join(exercise.asked())})\b", re.MULTILINE)
    cell = next(filter(defines.search, reversed(names.get("In", ()))), "")
    return ast.dump(ast.parse(cell)) == ast.dump(ast.parse(starting_code(exercise)))


def exercise_for(name: str) -> Exercise:
    """The first exercise that asks for an object of this name.

    Raises:
        UserError: none does.
    """
    coding = [e for e in course().exercises if e.subject]
    asked = [(own, e) for e in coding for own in e.asked()]
    given = [(address_name(a), e) for e in coding for a in subject(e.subject).source]
    known = dict(reversed([*asked, *given]))
    known.pop("", None)  # of exercises about a whole module
    if name not in known:
        raise UserError(f"no exercise asks for {name}; expected one of {', '.join(sorted(known))}")
    return known[name]


def _names(answer: object) -> dict[str, Any]:
    """What is defined around the answer, and the answer itself under its name."""
    if isinstance(answer, str):
        return vars(sys.modules["__main__"])
    module = inspect.getmodule(answer) or sys.modules["__main__"]
    around = getattr(answer, "__globals__", None) or vars(module)
    return {**around, getattr(answer, "__name__", ""): answer}


def card(report: Report, title: str, after: str = "") -> str:
    """The report as one HTML element; `after` is a text below it."""
    state = "good" if report.passed else "bad"
    headline = report.score if report.checks else "not checked"
    rows = [f'<h4>{escape(title)}: <span class="{state}">{headline}</span></h4>']
    if not report.passed:
        rows += [f"<pre>{escape(line)}</pre>" for line in report.lines()[:1]]
    for mistake in report.mistakes:
        rows.append(f"<p><b>Known mistake.</b> {escape(mistake.diagnosis)}")
        rows.append(f"<br><small>Lesson: {escape(mistake.lesson)}</small></p>")
    if not report.error:
        rows.append(f"<ul>{''.join(_item(c.name, c.passed) for c in report.checks)}</ul>")
    rows.append(_maps(report.matrices))
    text = re.sub(r"(?<!\n)\n(?![\n-])", " ", after)  # a paragraph is one line
    text = text.replace("- [ ]", "☐")
    rows += [f"<div class='after'>{escape(text)}</div>"] if after else []
    style = (CONTENT / "card.css").read_text(encoding="utf-8")
    return f"<style>{style}</style><div class='ch-card'>{''.join(rows)}</div>"


def _item(name: str, passed: bool) -> str:
    mark, state = ("✓", "good") if passed else ("✗", "bad")
    return f'<li><span class="{state}">{mark}</span> {escape(name)}</li>'


def _maps(matrices: tuple[list[list[float]], ...]) -> str:
    if not matrices:
        return ""
    every = [abs(x) for matrix in matrices for row in matrix for x in row if x == x]
    largest = max([x for x in every if x != float("inf")], default=0.0) or 1.0
    tables = []
    for name, matrix in zip(("expected", "actual"), matrices, strict=True):
        rows = "".join(f"<tr>{''.join(heat_cell(x, largest) for x in row)}</tr>" for row in matrix)
        tables.append(f"<table><caption>{name}</caption>{rows}</table>")
    return f"<div class='maps'>{''.join(tables)}</div>"


def heat_cell(value: float, largest: float) -> str:
    """Positive values in the accent colour, negative in orange, by their share of the largest."""
    share = round(min(100.0, 100 * abs(value) / largest)) if value == value else 0
    colour = "var(--accent)" if value > 0 else "var(--negative)"
    style = f"background:color-mix(in oklab,{colour} {share * 6 // 10}%,var(--surface))"
    shown = str(value) if isinstance(value, bool) else f"{value:.2f}"
    return f"<td style='{style}'>{shown}</td>"
