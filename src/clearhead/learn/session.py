"""One learner at work: checks, hints and progress, for the command line and watch mode."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from os.path import relpath
from pathlib import Path
from textwrap import indent

from clearhead.errors import UserError
from clearhead.learn.client import Grader
from clearhead.learn.folder import Progress, locate, read_answer
from clearhead.learn.manifest import Exercise, course
from clearhead.learn.report import Report
from clearhead.learn.texts import assess, model_answer, solution_text, starting_text

HINT_KINDS = ("idea", "formula", "shape")


class Session:
    """A folder of exercises, its progress, and the grading process."""

    def __init__(self, folder: Path, grader: Grader) -> None:
        self.folder, self.grader = folder, grader

    @property
    def progress(self) -> Progress:
        """The progress as it is now: another terminal may have changed it."""
        return Progress.load(self.folder)

    @contextmanager
    def changed(self) -> Iterator[Progress]:
        """The progress as it is now, which is saved with the changes that are made to it."""
        progress = self.progress
        yield progress
        progress.save(self.folder)

    def check(self, exercise: Exercise) -> Report:
        """Grade the learner's file and remember the result."""
        report = check_text(exercise, read_answer(self.folder, exercise), self.grader)
        self._remember(report)
        return report

    def _remember(self, report: Report) -> None:
        name = report.exercise
        with self.changed() as progress:
            progress.attempts[name] = progress.attempts.get(name, 0) + 1
            if report.passed:
                progress.passed[name] = report.score
            for mistake in report.mistakes:
                progress.mistakes.setdefault(name, []).append(mistake.name)

    def hint(self, exercise: Exercise) -> str:
        """The next hint: idea, then formula, then shape; after the last one, again the last."""
        with self.changed() as progress:
            index = min(progress.hints.get(exercise.name, 0), len(exercise.hints) - 1)
            progress.hints[exercise.name] = index + 1
        kind = HINT_KINDS[index] if index < len(HINT_KINDS) else "more"
        left = len(exercise.hints) - index - 1
        more = f"\n({left} more: `clearhead learn hint {exercise.name}`)" if left else ""
        return f"Hint {index + 1}, {kind}: {exercise.hints[index]}{more}"

    def solution(self, exercise: Exercise, spoil: bool) -> str:
        """The solution, after the exercise has been passed.

        Raises:
            UserError: it has not been passed, and `spoil` is not set.
        """
        if exercise.name not in self.progress.passed and not spoil:
            raise UserError(
                f"{exercise.name} has not been passed yet; get a hint with `clearhead learn hint "
                f"{exercise.name}`, or show the solution anyway with --spoil"
            )
        return solution_text(exercise)

    def next(self) -> Exercise | None:
        """The first exercise that is neither passed nor in a chapter tested out of."""
        return next((e for e in course().exercises if not self.is_done(e)), None)

    def is_done(self, exercise: Exercise) -> bool:
        """Passed, or in a chapter that was tested out of."""
        done = exercise.name in self.progress.passed
        return done or str(exercise.chapter) in self.progress.skipped

    def done(self) -> int:
        """How many exercises are done."""
        return sum(map(self.is_done, course().exercises))

    def test_out(self, chapter: int) -> list[Report]:
        """Check a chapter's hardest exercises; if all pass, the chapter counts as done.

        Raises:
            UserError: there is no such chapter.
        """
        reports = [self.check(exercise) for exercise in test_out_exercises(chapter)]
        if all(report.passed for report in reports):
            with self.changed() as progress:
                progress.skipped.append(str(chapter))
        return reports


def check_text(exercise: Exercise, text: str, grader: Grader) -> Report:
    """Grade a text as an answer to an exercise."""
    if exercise.kind == "written":
        return assess(exercise, text)
    report = grader.grade(exercise, text)
    # The name of the mistake in the file as it was handed out would be the answer.
    unedited = exercise.kind == "bug" and text == starting_text(exercise)
    return replace(report, mistakes=()) if unedited else report


def test_out_exercises(chapter: int) -> list[Exercise]:
    """The exercises of a chapter that have its greatest difficulty, without written tasks.

    Raises:
        UserError: there is no such chapter, or it has none.
    """
    inside = [e for e in course().inside(chapter) if e.subject]
    if chapter not in course().chapters:
        raise UserError(f"there is no chapter {chapter}; `clearhead learn list` shows all")
    if not inside:
        raise UserError(f"chapter {chapter} has only written tasks; it cannot be skipped")
    hardest = max(e.difficulty for e in inside)
    return [e for e in inside if e.difficulty == hardest]


def describe(session: Session, exercise: Exercise, report: Report) -> list[str]:
    """The lines that the learner reads after a check: what failed, or what to remember."""
    first, *rest = report.lines() or [""]
    lines = [
        f"{course().number(exercise)} {exercise.name}: {first}",
        *(indent(x, "  ") for x in rest),
    ]
    if not report.passed:
        file = relpath(locate(session.folder, exercise))
        return [*lines, f"  file: {file}", f"  hint: clearhead learn hint {exercise.name}"]
    if exercise.kind == "written":
        return [*lines, "", model_answer(exercise)]
    return [*lines, *([f"  {' '.join(exercise.key_idea.split())}"] if exercise.key_idea else [])]


def what_next(session: Session) -> list[str]:
    """The next exercise: its file, and the command that checks it."""
    following = session.next()
    if following is None:
        return ["  Every exercise is done. Next: clearhead learn certificate"]
    file = relpath(locate(session.folder, following))
    return [
        f"  Next: {course().number(following)} {following.title}",
        f"  Edit {file}, then run: clearhead learn check {following.name}",
    ]


def assess_yourself(session: Session, exercise: Exercise) -> None:
    """Ask for each point of the rubric whether the answer has it, if there is a terminal."""
    if exercise.kind != "written" or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return
    asked = (input(f"Does your answer say: {p} [y/n] ") for p in exercise.rubric)
    found = [reply.strip().lower().startswith("y") for reply in asked]
    with session.changed() as progress:
        progress.rubric[exercise.name] = found
    print(f"{sum(found)} of {len(found)} points; your portfolio keeps them")
