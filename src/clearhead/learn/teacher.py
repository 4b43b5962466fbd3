"""Grading many submissions: a table of results, and the misconceptions of the class."""

import csv
import io
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue

from clearhead.errors import UserError, counted
from clearhead.learn.client import Grader
from clearhead.learn.folder import read_file
from clearhead.learn.manifest import Exercise, course
from clearhead.learn.report import Report
from clearhead.learn.session import check_text

logger = logging.getLogger(__name__)
LARGEST_ANSWER = 1 << 20
COLUMNS = (
    "student", "exercise", "checked", "passed", "checks_passed", "checks", "mistakes", "message",
)  # fmt: skip
SEPARATOR = "__"  # STUDENT__EXERCISE.py, for submissions in one folder
NAMES = f"STUDENT/EXERCISE.py or STUDENT{SEPARATOR}EXERCISE.py"
SHOWN = 10  # files that are not graded
ANSWERS = (".py", ".md")
FORMATS = (*ANSWERS, ".ipynb", ".zip", ".7z", ".rar", ".tar", ".gz", ".tgz")


@dataclass(frozen=True)
class Submission:
    """One file: its student, its exercise."""

    student: str
    exercise: Exercise
    path: Path


@dataclass(frozen=True)
class Graded:
    """A submission and its report."""

    submission: Submission
    report: Report


def submissions(folder: Path) -> list[Submission]:
    """Every answer: FOLDER/STUDENT/**/EXERCISE.py, or STUDENT__EXERCISE.py anywhere below FOLDER.

    A link or a folder of that name is a submission, too: it gets a report that says so. Warnings
    name the files that are not graded, archives and notebooks too, and students with two answers.

    Raises:
        UserError: the folder has none.
    """
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder; give the one that holds the submissions")
    found, left = list[Submission](), list[str]()
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        hidden = path.stem == "README" or any(part.startswith(".") for part in parts)
        if path.suffix not in FORMATS or hidden:
            continue
        try:
            found.append(_submission(path, parts[0] if len(parts) > 1 else ""))
        except UserError as error:
            left.append(f"{path} is not graded: {error}")
    more = [f"{len(left) - SHOWN} more are not graded"] if len(left) > SHOWN else []
    for line in left[:SHOWN] + more:
        logger.warning("%s", line)
    if not found:
        raise UserError(
            f"{folder} holds no submissions; expected {NAMES} with the name of an exercise"
        )
    return _told_apart(found, folder)


def _submission(path: Path, folder: str) -> Submission:
    """The answer in a file.

    Raises:
        UserError: it has none, or it names no student.
    """
    student, _, name = path.stem.rpartition(SEPARATOR)
    if path.suffix not in ANSWERS:
        raise UserError(f"archives and notebooks are not opened; expected {NAMES}")
    exercise = course().exercise(name)
    if not (student or folder):
        raise UserError(f"no student is named; expected {NAMES}")
    return Submission(student or folder, exercise, path)


def _told_apart(found: Sequence[Submission], folder: Path) -> list[Submission]:
    """The answers; those of one student to one exercise are listed under the paths of their files.

    The first folder may be that of a class or a week, and then its students have the same name.
    """
    counts = Counter((one.student, one.exercise) for one in found)
    several = {key[0]: key[1].name for key, count in reversed(counts.items()) if count > 1}
    for student, name in reversed(several.items()):
        logger.warning(
            "%s has more than one answer to %s; each is listed under its file's path. Give the "
            "folder that holds one folder for each student", student, name
        )  # fmt: skip
    return [
        replace(one, student=one.path.relative_to(folder).as_posix())
        if counts[one.student, one.exercise] > 1 else one
        for one in found
    ]  # fmt: skip


def grade_all(
    every: Sequence[Submission], jobs: int, done: Callable[[int], None] = lambda _: None
) -> Iterator[Graded]:
    """Grade every submission, `jobs` at a time; a bad file gets its report like any other."""
    free: SimpleQueue[Grader] = SimpleQueue()
    with ExitStack() as stack:
        for _ in range(jobs):
            free.put(stack.enter_context(Grader()))

        def one(submission: Submission) -> Graded:
            mine = free.get()
            try:
                return Graded(submission, _report(submission, mine))
            finally:
                free.put(mine)

        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        for count, graded in enumerate(pool.map(one, every), start=1):
            done(count)
            yield graded


def _report(one: Submission, grader: Grader) -> Report:
    name, path = one.exercise.name, one.path
    try:
        if path.is_symlink() or not path.is_file():
            return Report(name, error="this is a link or a folder; submit the file itself")
        if path.stat().st_size > LARGEST_ANSWER:
            return Report(name, error=f"the file is larger than {LARGEST_ANSWER:,} bytes")
        return check_text(one.exercise, read_file(path), grader)
    except (OSError, UserError) as error:
        return Report(name, error=f"the file cannot be read: {error}")


def to_csv(graded: Sequence[Graded]) -> str:
    """One row for each submission."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in graded:
        report = one.report
        right = sum(check.passed for check in report.checks)
        mistakes = " ".join(mistake.name for mistake in report.mistakes)
        message = "" if report.passed else report.lines()[0].removesuffix("^")
        checked = "length only" if one.submission.exercise.kind == "written" else "results"
        row = [one.submission.student, report.exercise, checked, int(report.passed), right]
        writer.writerow([*map(_plain, row), len(report.checks), mistakes, _plain(message)])
    return stream.getvalue()


def _plain(value: object) -> object:
    """Spreadsheets run a cell that begins with = + - @ as a formula; a quote prevents it."""
    if not isinstance(value, str):
        return value
    text = " ".join(value.encode("utf-8", "backslashreplace").decode().split())
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def summary(graded: Sequence[Graded]) -> str:
    """For each exercise the share that passed, then the mistakes by frequency."""
    by_exercise: dict[str, list[Report]] = {}
    for one in graded:
        by_exercise.setdefault(one.report.exercise, []).append(one.report)
    students = len({one.submission.student for one in graded})
    lines = [f"{counted(len(graded), 'submission')} of {counted(students, 'student')}"]
    for name, reports in by_exercise.items():
        right = sum(report.passed for report in reports)
        lines.append(f"\n{name}: {right} of {len(reports)} passed")
        counts = Counter(mistake for r in reports for mistake in r.mistakes)
        for mistake, count in counts.most_common():
            lines.append(f"  {count:4d} × {mistake.name}: {mistake.diagnosis}")
        causes = Counter(_cause(r) for r in reports if not r.passed and not r.mistakes)
        lines += [f"  {count:4d} × {cause}" for cause, count in causes.most_common()]
    return "\n".join(lines)


def _cause(report: Report) -> str:
    """Why an answer did not run, without its own words: what a teacher counts."""
    first, _, caret = report.error.partition("\n")
    return "syntax error" if caret.endswith("^") else first or "not passed, no known mistake"
