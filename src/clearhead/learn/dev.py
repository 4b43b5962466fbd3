"""For authors: the proof of the course, and the entry of a new exercise.

The proof: shipped files fail, solutions pass, variants are distinguished.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from clearhead.errors import UserError
from clearhead.learn.client import Grader
from clearhead.learn.manifest import CODING, Exercise, course, subject, texts
from clearhead.learn.observe import probe_of
from clearhead.learn.report import Report
from clearhead.learn.texts import solution, starting_text, variant_text

LONGEST_NAME = 31
FEWEST_VARIANTS = 3
HINTS = 3


@dataclass
class Findings:
    """What `dev check` counts, and every problem it finds."""

    problems: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    marks: str = ""  # a point for each variant that is recognized, X for another, ? for none


def check_course(names: list[str]) -> tuple[list[str], list[str]]:
    """Check the named exercises and subjects, or all: the problems, and the lines to print."""
    exercises = [e for e in course().exercises if not names or {e.name, e.subject} & set(names)]
    if not exercises:
        raise UserError(f"no exercise or subject is called {' or '.join(names)}")
    found = Findings()
    start = time.perf_counter()
    with Grader() as one:
        for exercise in exercises:
            problems = [*_of_entry(exercise), *_of_exercise(exercise, one)]
            found.problems += [f"{exercise.name}: {problem}" for problem in problems]
        for name in dict.fromkeys(e.subject for e in exercises if e.subject):
            _check_subject(name, one, found)
    coding = sum(e.kind in CODING for e in exercises)
    found.lines += [
        f"{len(exercises)} exercises ({coding} coding), {len(found.marks)} wrong variants",
        f"recognized as itself: {found.marks.count('.')} of {len(found.marks)}; "
        f"as another: {found.marks.count('X')} ({time.perf_counter() - start:.0f} s)",
    ]
    return found.problems, found.lines


def _of_entry(exercise: Exercise) -> Iterator[str]:
    if len(exercise.name) > LONGEST_NAME or _names().count(exercise.name) > 1:
        yield "the name is too long or not unique"
    if len(exercise.hints) != HINTS or not all(map(str.strip, exercise.hints)):
        yield f"expected {HINTS} hints (idea, formula, shape)"
    required = {"title": exercise.title, "task": exercise.task}
    yield from (f"the {key} is empty" for key, text in required.items() if not text.strip())
    answers = {"".join(blank.old.split()) for blank in exercise.blanks}
    for hint in exercise.hints:
        squeezed = "".join(hint.split())
        if any(answer in squeezed for answer in answers if len(answer) > 3):
            yield "a hint contains the answer"
    if exercise.kind == "written" and not (exercise.answer.strip() and exercise.rubric):
        yield "a written task needs an answer and a rubric"
    if exercise.kind in CODING and len(subject(exercise.subject).variants) < FEWEST_VARIANTS:
        yield f"fewer than {FEWEST_VARIANTS} wrong variants"


def _names() -> list[str]:
    return [exercise.name for exercise in course().exercises]


def _of_exercise(exercise: Exercise, one: Grader) -> Iterator[str]:
    if exercise.kind == "written":
        return
    try:
        probe_of(exercise.subject)
        report = one.grade(exercise, starting_text(exercise))
    except UserError as error:
        yield str(error)
        return
    if report.passed:
        yield "the file as shipped passes"
    if exercise.kind == "bug" and sorted(m.name for m in report.mistakes) != sorted(exercise.bugs):
        yield f"its own bug is not recognized: {report}"


def _check_subject(name: str, one: Grader, found: Findings) -> None:
    own = [e for e in course().exercises if e.subject == name]
    exercise = min(own, key=lambda e: e.kind != "write")  # it accepts fewer forms
    report = one.grade(exercise, solution(name))
    if not report.passed:
        found.problems.append(f"{name}: its solution fails: {report}")
        return
    row = ""
    for variant in subject(name).variants:
        expected = variant.same_as or variant.name
        try:
            graded = one.grade(exercise, variant_text(name, variant.name))
        except UserError as error:
            graded = Report(exercise.name, error=str(error))
        named = " + ".join(m.name for m in graded.mistakes)
        row += "." if named == expected else "X" if named else "?"
        if graded.passed:
            found.problems.append(f"{name}: variant {variant.name} passes every check")
        elif named != expected:
            found.problems.append(
                f"{name}: variant {variant.name} is recognized as {named or 'nothing'}: {graded}"
            )
    found.marks += row
    found.lines.append(f"{name:24} {report.score}; variants {row}")


def new_entry(name: str, chapter: int, subject_name: str) -> str:
    """A manifest entry to fill in, with the source from which a blank can be cut.

    Raises:
        UserError: the name is taken or too long, or there is no such chapter or subject.
    """
    if len(name) > LONGEST_NAME or name in _names():
        raise UserError(f"{name} is taken or longer than {LONGEST_NAME} characters")
    if chapter not in course().chapters:
        raise UserError(f"there is no chapter {chapter}; chapters are {list(course().chapters)}")
    inside = subject(subject_name).source[0].rpartition(":")[2].rpartition(".")[2]
    entry = texts()["entry"].format(name=name, chapter=chapter, subject=subject_name, inside=inside)
    shown = "".join(f"# {line}\n" for line in solution(subject_name).splitlines())
    return f"{entry}\n# The source:\n{shown}"
