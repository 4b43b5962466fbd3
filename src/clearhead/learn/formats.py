"""Reports for other programs: Exercism's results schema, Gradescope, GitHub Classroom."""

import json
from collections.abc import Sequence
from typing import Any

from clearhead.learn.report import Report


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
