"""The result of grading one answer: as text, and as other programs read it.

Exercism's results schema, Gradescope, GitHub Classroom.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Check:
    """One law or one comparison, and why it failed."""

    name: str
    passed: bool
    message: str = ""


@dataclass(frozen=True)
class Mistake:
    """A recognized mistake: its name, what it is, and where the course explains it."""

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

    @staticmethod
    def from_dict(table: dict[str, Any]) -> "Report":
        """A report that was sent as JSON."""
        values = dict(table)
        values["checks"] = tuple(Check(**c) for c in table["checks"])
        values["mistakes"] = tuple(Mistake(**m) for m in table["mistakes"])
        values["matrices"] = tuple(table["matrices"])
        return Report(**values)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """The report as the learner reads it: what failed, then the name of the mistake."""
        return [
            "".join(c if c.isprintable() or c in "\n\t" else "�" for c in line)
            for line in self._lines()
        ]

    def _lines(self) -> list[str]:
        if self.passed:
            return [f"passed: {self.score}", *self._output()]
        where = f"line {self.line}: " if self.line else ""
        found = [where + self.error] if self.error else []
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

    def _output(self) -> list[str]:
        return ["your program printed:", self.printed] if self.printed else []


def exercism(report: Report) -> str:
    """A report as Exercism's test runners write it (version 2), with the recognized mistakes."""
    tests = [
        {"name": c.name, "status": _word(c.passed)} | ({"message": c.message} if c.message else {})
        for c in report.checks
    ]
    status = "error" if report.error and not report.checks else _word(report.passed)
    table = {
        "version": 2, "exercise": report.exercise, "status": status,
        "message": None if report.passed else str(report), "tests": tests,
        "mistakes": [asdict(mistake) for mistake in report.mistakes],
    }  # fmt: skip
    return json.dumps(table, indent=1, ensure_ascii=False)


def _word(passed: bool) -> str:
    return "pass" if passed else "fail"


def gradescope(reports: Sequence[Report]) -> str:
    """The results.json of a Gradescope autograder: one test for each exercise."""
    tests = [
        {
            "name": report.exercise, "score": float(report.passed), "max_score": 1.0,
            "status": _word(report.passed) + "ed", "output": str(report),
        }
        for report in reports
    ]  # fmt: skip
    return json.dumps({"tests": tests, "stdout_visibility": "hidden"}, indent=1)


def github_classroom(reports: Sequence[Report]) -> str:
    """The results of a GitHub Classroom autograding step."""
    tests = [
        {
            "name": report.exercise, "status": _word(report.passed),
            "score": int(report.passed), "message": str(report),
        }
        for report in reports
    ]  # fmt: skip
    status = _word(all(report.passed for report in reports))
    table = {"version": 1, "status": status, "max_score": len(reports), "tests": tests}
    return json.dumps(table, indent=1, ensure_ascii=False)
