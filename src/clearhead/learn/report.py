"""The result of grading one answer: as text, and as other programs read it.

Exercism's results schema, Gradescope, GitHub Classroom.
"""

import inspect
import json
import re
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from clearhead.learn.adopt import Misfit
from clearhead.learn.records import Record, TooLarge
from clearhead.learn.run import Missing, Run
from clearhead.learn.sandbox import Refused
from clearhead.learn.source import BLANK


@dataclass(frozen=True)
class Check:
    """One law or one comparison, and why it failed."""

    name: str
    passed: bool
    message: str = ""


@dataclass(frozen=True)
class Mistake:
    """A recognised mistake: its name, what it is, and where the course explains it."""

    name: str
    diagnosis: str
    lesson: str = ""


@dataclass(frozen=True)
class Report:
    """What was checked and what was found.

    `error` says why the checks could not run or complete, and `line` where in the
    answer; `matrices` holds expected and actual values of a wrong matrix.
    """

    exercise: str
    checks: tuple[Check, ...] = ()
    mistakes: tuple[Mistake, ...] = ()
    error: str = ""
    line: int = 0
    printed: str = ""
    matrices: tuple[list[list[float]], ...] = field(default=(), repr=False)

    @property
    def passed(self) -> bool:
        """Every check passed, and there was at least one."""
        return not self.error and bool(self.checks) and all(c.passed for c in self.checks)

    @property
    def score(self) -> str:
        """`6 of 7 checks passed`."""
        right = sum(c.passed for c in self.checks)
        return f"{right} of {len(self.checks)} checks passed"

    def to_dict(self) -> dict[str, Any]:
        """As JSON carries it between processes."""
        return asdict(self)

    @staticmethod
    def from_dict(table: dict[str, Any]) -> "Report":
        """The report that `to_dict` wrote."""
        values = dict(table)
        values["checks"] = tuple(Check(**c) for c in table["checks"])
        values["mistakes"] = tuple(Mistake(**m) for m in table["mistakes"])
        values["matrices"] = tuple(table["matrices"])
        return Report(**values)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The report as the learner reads it: what failed, then the name of the mistake."""
        if self.passed:
            return [f"passed: {self.score}", *self._output()]
        found = [self._where() + self.error] if self.error else []
        failed = [c for c in self.checks if not c.passed] if not self.error else []
        shown = failed[:1] + [c for c in failed[1:] if "expected" in c.message][:1]
        shown = shown[:1] if failed and "expected" in failed[0].message else shown
        found += [f"{c.name}: {c.message or 'does not hold'}" for c in shown]
        if left := [c.name for c in failed if c not in shown]:
            found.append(f"also failed: {'; '.join(left)}")
        for mistake in self.mistakes:
            found.append(f"known mistake: {mistake.diagnosis}")
            found += [f"lesson: {mistake.lesson}"] if mistake.lesson else []
        if self.checks:
            found.append(self.score)
        return found + self._output()

    def _where(self) -> str:
        return f"line {self.line}: " if self.line else ""

    def _output(self) -> list[str]:
        return ["your program printed:", self.printed] if self.printed else []


def exercism(report: Report) -> str:
    """A report as Exercism's test runners write it (version 2), with the recognised mistakes."""
    tests = [
        {
            "name": check.name,
            "status": "pass" if check.passed else "fail",
            **({"message": check.message} if check.message else {}),
        }
        for check in report.checks
    ]
    table = {
        "version": 2,
        "exercise": report.exercise,
        "status": _status(report),
        "message": None if report.passed else "\n".join(report.lines()),
        "tests": tests,
        "mistakes": [
            {"name": m.name, "diagnosis": m.diagnosis, "lesson": m.lesson} for m in report.mistakes
        ],
    }
    return json.dumps(table, indent=1, ensure_ascii=False)


def _status(report: Report) -> str:
    if report.passed:
        return "pass"
    return "error" if report.error and not report.checks else "fail"


def gradescope(reports: Sequence[Report]) -> str:
    """The results.json of a Gradescope autograder: one test for each exercise."""
    tests: list[dict[str, Any]] = [
        {
            "name": report.exercise,
            "score": float(report.passed),
            "max_score": 1.0,
            "status": "passed" if report.passed else "failed",
            "output": str(report),
        }
        for report in reports
    ]
    return json.dumps({"tests": tests, "stdout_visibility": "hidden"}, indent=1)


def github_classroom(reports: Sequence[Report]) -> str:
    """The results of a GitHub Classroom autograding step."""
    tests = [
        {
            "name": report.exercise,
            "status": "pass" if report.passed else "fail",
            "score": int(report.passed),
            "message": str(report),
        }
        for report in reports
    ]
    status = "pass" if all(report.passed for report in reports) else "fail"
    table = {"version": 1, "status": status, "max_score": len(reports), "tests": tests}
    return json.dumps(table, indent=1, ensure_ascii=False)


BINDING = re.compile(r"^([\w.]+)\(\) (?:takes|missing|got an unexpected|got multiple)")
Names = Mapping[str, Any]


def open_blanks(text: str) -> str:
    """A message about the first blank that is not filled in, or nothing."""
    lines = text.splitlines()
    numbers = [i for i, line in enumerate(lines, start=1) if BLANK in line.partition("#")[0]]
    code = [i for i in numbers if not _in_docstring(text, i)]
    if not code:
        return ""
    more = f" ({len(code)} lines have one)" if len(code) > 1 else ""
    return f"line {code[0]}: the blank ____ is not filled in yet{more}"


def _in_docstring(text: str, line: int) -> bool:
    before = "\n".join(text.splitlines()[: line - 1])
    return before.count('"""') % 2 == 1


def syntax_error(error: SyntaxError) -> Record:
    """The line and a caret, as Python itself shows them."""
    text = (error.text or "").rstrip("\n")
    caret = " " * (max(1, error.offset or 1) - 1) + "^"
    message = f"{error.msg}\n    {text}\n    {caret}"
    return {"error": message, "type": "SyntaxError", "line": error.lineno or 0}


def failure(error: BaseException, filename: str, run: Run | None = None) -> Record:
    """The record of an exception: message, type, line of the answer."""
    if isinstance(error, SyntaxError) and error.filename == filename:
        return syntax_error(error)
    line = _line(error, filename)
    kind = "RuntimeError" if _of_torch(error) else type(error).__name__
    record = {"type": kind, "line": line, "raw": str(error)[:300]}
    return {**record, "error": _message(error, filename, run)}


def _message(error: BaseException, filename: str, run: Run | None) -> str:
    words = " ".join(str(error).split())[:300]
    if type(error) in (LookupError, Missing, Misfit, Refused):  # the grader's own words
        return words
    if isinstance(error, NameError | AttributeError) and error.name == BLANK:
        return "the blank ____ is not filled in yet"
    if isinstance(error, NotImplementedError) and not _of_torch(error):
        return "not written yet (raise NotImplementedError)"
    if isinstance(error, SystemExit):
        return "the program called exit; an exercise must return"
    if isinstance(error, TooLarge):
        return f"{words} is larger than any correct result"
    if isinstance(error, MemoryError):
        return "the memory limit was reached"
    if run is not None and isinstance(error, TypeError) and (text := _signature(words, run)):
        return text
    explained = _explained(error, run, filename)
    return f"{explained or ''}{type(error).__name__}: {words}"


def _of_torch(error: BaseException) -> bool:
    """Whether an operation does not exist for a dtype: PyTorch raises NotImplementedError too."""
    return isinstance(error, NotImplementedError) and "not implemented for" in str(error)


def _line(error: BaseException, filename: str) -> int:
    frames = traceback.extract_tb(error.__traceback__)
    return next((f.lineno or 0 for f in reversed(frames) if f.filename == filename), 0)


def _signature(words: str, run: Run) -> str:
    """Expected and found signature, if the call itself did not fit."""
    match = BINDING.match(words)
    if match is None:
        return ""
    path = match.group(1)
    expected, found = _find(run.reference, path), _find(run.answer, path)
    if expected is None or found is None:
        return ""
    ours, theirs = inspect.signature(expected), inspect.signature(found)
    return f"expected {path}({_arguments(ours)}), found {path}({_arguments(theirs)})"


def _find(names: Names, path: str) -> Any:
    first, *rest = path.split(".")
    value = names.get(first)
    for part in rest:
        value = getattr(value, part, None)
    return value


def _arguments(signature: inspect.Signature) -> str:
    return ", ".join(name for name in signature.parameters if name != "self")


def _explained(error: BaseException, run: Run | None, filename: str) -> str:
    """The tracer's explanation of a shape error: what met what, and the likely slip."""
    if run is None or run.last_call is None or not isinstance(error, RuntimeError | ValueError):
        return ""
    from clearhead.explain.tracer import trace

    function, inputs = run.last_call
    try:
        mistake = trace(function, *inputs).mistake
    except Exception:  # noqa: BLE001 - the answer's own error, which is reported anyway
        return ""
    return f"{mistake.headline}; {mistake.slip}\n" if mistake else ""
