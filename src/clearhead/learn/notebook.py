"""`check(MultiHeadAttentionBlock)` in a notebook: the exercise is found by the object's name."""

import inspect
import json
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clearhead.errors import UserError
from clearhead.learn.answer import run_names
from clearhead.learn.card import card
from clearhead.learn.grading import grade
from clearhead.learn.manifest import Exercise, course, subject, subject_names
from clearhead.learn.report import Report
from clearhead.learn.source import BLANK, address_name
from clearhead.learn.written import assess, model_answer


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
        return card(self.report, self.title, self._after_passing())

    def __repr__(self) -> str:
        first, *rest = self.report.lines()
        shown = [f"{self.title}: {first}", *rest, self._after_passing()]
        return "\n".join(shown).rstrip()

    def _after_passing(self) -> str:
        return self.after if self.passed else ""


def check(answer: type | Callable[..., Any] | str, exercise: str | None = None) -> Checked:
    """Check a class or a function, or what the notebook defines for an exercise.

        check(MultiHeadAttentionBlock)
        check("one-hot-norm")
        check("why-keys")     # a written task: the text in the variable why_keys

    The answer runs in this process, as the cell itself did. Other definitions that the
    exercise needs are taken from the answer's own module.

    Raises:
        UserError: no exercise asks for an object of this name.
    """
    found = course().exercise(exercise or answer) if isinstance(answer, str) else None
    if found is None:
        assert not isinstance(answer, str)
        found = course().exercise(exercise) if exercise else exercise_for(answer.__name__)
    names = dict(_names(answer))
    title = f"{course().number(found)} {found.title}"
    if found.kind == "written":
        return _written(found, title, names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = run_names(names, found.subject)
    report = grade(found.name, found.subject, json.loads(json.dumps(result)))
    return Checked(title, report, found.key_idea)


def variable_of(exercise: Exercise) -> str:
    """The variable that holds the answer to a written task: `why_keys`."""
    return exercise.name.replace("-", "_")


def _written(exercise: Exercise, title: str, names: dict[str, Any]) -> Checked:
    text = str(names.get(variable_of(exercise), "")).replace(BLANK, "")
    return Checked(title, assess(exercise, text), model_answer(exercise))


def exercise_for(name: str) -> Exercise:
    """The first exercise that asks for an object of this name.

    Raises:
        UserError: none does.
    """
    known: dict[str, Exercise] = {}
    for subject_name in subject_names():
        first = next(e for e in course().exercises if e.subject == subject_name)
        for address in subject(subject_name).source:
            known.setdefault(address_name(address), first)
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
