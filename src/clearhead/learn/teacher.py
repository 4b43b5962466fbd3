"""Grading many submissions: a table of results, and the misconceptions of the class."""

import csv
import io
import logging
import re
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
from clearhead.learn.notebooks import code_of
from clearhead.learn.notebooks.handed_in import handed_in
from clearhead.learn.report import Report
from clearhead.learn.session import check_text

logger = logging.getLogger(__name__)
LARGEST_ANSWER, LARGEST_NOTEBOOK = 1 << 20, 1 << 28
COLUMNS = (
    "student", "exercise", "checked", "passed", "checks_passed", "checks", "mistakes", "message",
)  # fmt: skip
SEPARATOR = "__"  # STUDENT__EXERCISE.py, for submissions in one folder
NAMES = f"STUDENT/EXERCISE.py or STUDENT{SEPARATOR}EXERCISE.py"
NOT_DONE = "not done"
SHOWN = 10  # files that are not graded
ANSWERS = (".py", ".md")
FORMATS = (*ANSWERS, ".ipynb", ".zip", ".7z", ".rar", ".tar", ".gz", ".tgz")
# What Colab, Jupyter and browsers add to the name of a copy.
COPY = re.compile(r"^(?:Copy of )+|(?:-Copy\d+| ?\(\d+\))+$")


@dataclass(frozen=True)
class Submission:
    """One answer: its student, its exercise, its file.

    `text` is that of an answer in a notebook, and empty if it is not done.
    """

    student: str
    exercise: Exercise
    path: Path
    text: str | None = None


@dataclass(frozen=True)
class Graded:
    """A submission and its report."""

    submission: Submission
    report: Report


def submissions(folder: Path) -> list[Submission]:
    """Every answer: FOLDER/STUDENT/**/EXERCISE.py, or STUDENT__EXERCISE.py anywhere below FOLDER.

    A notebook has the answers of STUDENT/NAME.ipynb, STUDENT__NAME.ipynb or STUDENT.ipynb. A link
    or a folder named as an exercise is a submission, too: it gets a report that says so. Warnings
    name the files that are not graded, archives too, and students with two answers.

    Raises:
        UserError: the folder has none.
    """
    if not folder.is_dir():
        raise UserError(f"{folder} is not a folder; give the one that holds the submissions")
    found, left = list[Submission](), list[str]()
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        hidden = path.stem == "README" or any(part.startswith(".") for part in parts)
        if path.suffix.lower() not in FORMATS or hidden:
            continue
        try:
            found += _answers(path, parts[0] if len(parts) > 1 else "")
        except (OSError, UserError) as error:
            left.append(f"{path} is not graded: {error}")
    more = [f"{len(left) - SHOWN} more are not graded"] if len(left) > SHOWN else []
    for line in left[:SHOWN] + more:
        logger.warning("%s", line)
    if not found:
        raise UserError(
            f"{folder} holds no submissions; expected {NAMES} with the name of an exercise, or "
            "STUDENT.ipynb"
        )
    return _told_apart(found, folder)


def _answers(path: Path, folder: str) -> list[Submission]:
    """The answer in a file, or those in a notebook.

    Raises:
        UserError: it has none, or it names no student.
    """
    student, _, name = COPY.sub("", path.stem).rpartition(SEPARATOR)
    student = student or folder
    if path.suffix.lower() == ".ipynb":
        if found := handed_in(code_of(_read(path, LARGEST_NOTEBOOK))):
            return [Submission(student or name, e, path, text) for e, text in found.items()]
        raise UserError('no cell has a check("EXERCISE")')
    if path.suffix.lower() not in ANSWERS:
        raise UserError(f"archives are not opened; expected {NAMES}")
    exercise = course().exercise(name)
    if not student:
        raise UserError(f"no student is named; expected {NAMES}")
    return [Submission(student, exercise, path)]


def _read(path: Path, most: int) -> str:
    """The text of a file.

    Raises:
        UserError: it is not a file, larger than `most`, or not text.
    """
    if path.is_symlink() or not path.is_file():
        raise UserError("this is a link or a folder; submit the file itself")
    if path.stat().st_size > most:
        raise UserError(f"the file is larger than {most:,} bytes")
    return read_file(path)


def _told_apart(found: Sequence[Submission], folder: Path) -> list[Submission]:
    """The answers; those of one student to one exercise are listed under the paths of their files.

    The first folder may be that of a class or a week, and then its students have the same name.
    An exercise that is not done in one notebook is left out if another file has an answer.
    """
    best = {(o.student, o.exercise): o for o in sorted(found, key=lambda o: o.text != "")}
    found = [o for o in found if o.text != "" or best[o.student, o.exercise] is o]
    counts = Counter((one.student, one.exercise) for one in found)
    several: dict[str, str] = {}  # of each student with two answers, the first such exercise
    for (student, exercise), count in counts.items():
        if count > 1:
            several.setdefault(student, exercise.name)
    for student, name in several.items():
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
    try:
        text = one.text if one.text is not None else _read(one.path, LARGEST_ANSWER)
    except (OSError, UserError) as error:
        return Report(one.exercise.name, error=str(error))
    if one.text == "":
        return Report(one.exercise.name, error=NOT_DONE)
    return check_text(one.exercise, text, grader)


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
    """The exercises that are not done; for each other the share that passed, and the mistakes."""
    by_exercise: dict[str, list[Report]] = {}
    for one in graded:
        by_exercise.setdefault(one.report.exercise, []).append(one.report)
    students = len({one.submission.student for one in graded})
    lines = [f"{counted(len(graded), 'submission')} of {counted(students, 'student')}"]
    undone = [n for n, reports in by_exercise.items() if {r.error for r in reports} == {NOT_DONE}]
    if undone:
        lines.append(f"\nnot done: {', '.join(undone)}")
    for name, reports in by_exercise.items():
        if name in undone:
            continue
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
