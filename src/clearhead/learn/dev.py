"""For authors: the proof of the course, and the entry of a new exercise.

The proof: shipped files fail, solutions pass, variants are distinguished.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from clearhead.errors import UserError
from clearhead.learn.client import Grader, grader
from clearhead.learn.manifest import (
    CODING,
    CONTENT,
    Exercise,
    Subject,
    Variant,
    course,
    subject,
    subject_names,
    texts,
)
from clearhead.learn.texts import solution, starting_text, variant_text

LONGEST_NAME = 31
FEWEST_VARIANTS = 3
HINTS = 3


@dataclass
class Findings:
    """What `dev check` counts, and every problem it finds."""

    problems: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    variants: int = 0
    recognised: int = 0
    confused: int = 0


def check_course(names: list[str]) -> tuple[list[str], list[str]]:
    """Check the named exercises and subjects, or all: the problems, and the lines to print."""
    exercises = [e for e in course().exercises if not names or {e.name, e.subject} & set(names)]
    if not exercises:
        raise UserError(f"no exercise or subject is called {' or '.join(names)}")
    found = Findings()
    start = time.perf_counter()
    subjects = [name for name in subject_names() if any(e.subject == name for e in exercises)]
    with grader() as one:
        for exercise in exercises:
            _check_exercise(exercise, one, found)
        for name in subjects:
            _check_subject(subject(name), one, found)
    if not names:
        found.problems += _stray_files()
    coding = sum(e.kind in CODING for e in exercises)
    found.lines += [
        f"{len(exercises)} exercises ({coding} coding), {found.variants} wrong variants",
        f"recognised as itself: {found.recognised} of {found.variants}; "
        f"as another: {found.confused} ({time.perf_counter() - start:.0f} s)",
    ]
    return found.problems, found.lines


def _check_exercise(exercise: Exercise, one: Grader, found: Findings) -> None:
    name = exercise.name
    _check_entry(exercise, found)
    if exercise.kind == "written":
        if not exercise.answer.strip() or not exercise.rubric:
            found.problems.append(f"{name}: a written task needs an answer and a rubric")
        return
    try:
        text = starting_text(exercise)
    except UserError as error:
        found.problems.append(f"{name}: {error}")
        return
    report = one.grade(exercise, text)
    if report.passed:
        found.problems.append(f"{name}: the file as shipped passes")
    if exercise.kind == "bug" and sorted(m.name for m in report.mistakes) != sorted(exercise.bugs):
        found.problems.append(f"{name}: its own bug is not recognised: {report}")
    if exercise.kind in CODING and len(subject(exercise.subject).variants) < FEWEST_VARIANTS:
        found.problems.append(f"{name}: fewer than {FEWEST_VARIANTS} wrong variants")


def _check_entry(exercise: Exercise, found: Findings) -> None:
    name = exercise.name
    if len(name) > LONGEST_NAME or sum(e.name == name for e in course().exercises) > 1:
        found.problems.append(f"{name}: the name is too long or not unique")
    if len(exercise.hints) != HINTS:
        found.problems.append(f"{name}: expected {HINTS} hints (idea, formula, shape)")
    answers = {"".join(blank.old.split()) for blank in exercise.blanks}
    for hint in exercise.hints:
        squeezed = "".join(hint.split())
        if any(answer in squeezed for answer in answers if len(answer) > 3):
            found.problems.append(f"{name}: a hint contains the answer")


def _check_subject(one_subject: Subject, one: Grader, found: Findings) -> None:
    exercise = next(e for e in course().exercises if e.subject == one_subject.name)
    report = one.grade(exercise, solution(one_subject.name))
    if not report.passed:
        found.problems.append(f"{one_subject.name}: its solution fails: {report}")
        return
    row = []
    for variant in one_subject.variants:
        found.variants += 1
        named = _recognised_as(one_subject.name, variant, exercise, one, found)
        right = named == (variant.same_as or variant.name)
        row.append("." if right else "X")
        if right:
            found.recognised += 1
        elif named:
            found.confused += 1
    found.lines.append(f"{one_subject.name:24} {report.score}; variants {''.join(row)}")


def _recognised_as(
    subject_name: str, variant: Variant, exercise: Exercise, one: Grader, found: Findings
) -> str:
    """The name that the grader gives to a variant; a problem is noted if it is another one."""
    label = f"{subject_name}: variant {variant.name}"
    try:
        report = one.grade(exercise, variant_text(subject_name, variant.name))
    except UserError as error:
        found.problems.append(f"{label}: {error}")
        return ""
    named = " + ".join(m.name for m in report.mistakes)
    if report.passed:
        found.problems.append(f"{label} passes every check")
    elif named != (variant.same_as or variant.name):
        found.problems.append(f"{label} is recognised as {named or 'nothing'}: {report}")
    return named


def _stray_files() -> Iterable[str]:
    """Content that no exercise uses."""
    used = set(subject_names())
    for path in (CONTENT / "subjects").iterdir():
        if path.name.removesuffix(".toml") not in used:
            yield f"content/subjects/{path.name} belongs to no exercise"
    sources = {address.partition(":")[0] for name in used for address in subject(name).source}
    for path in (CONTENT / "reference").iterdir():
        module = f"clearhead.learn.content.reference.{path.name.removesuffix('.py')}"
        if path.name.endswith(".py") and path.name != "__init__.py" and module not in sources:
            yield f"content/reference/{path.name} belongs to no subject"


def new_entry(name: str, chapter: int, subject_name: str) -> str:
    """A manifest entry to fill in, with the source from which a blank can be cut.

    Raises:
        UserError: the name is taken or too long, or there is no such chapter or subject.
    """
    if len(name) > LONGEST_NAME or any(e.name == name for e in course().exercises):
        raise UserError(f"{name} is taken or longer than {LONGEST_NAME} characters")
    if chapter not in course().chapters:
        raise UserError(f"there is no chapter {chapter}; chapters are {list(course().chapters)}")
    inside = subject(subject_name).source[0].rpartition(":")[2].rpartition(".")[2]
    entry = texts()["entry"].format(name=name, chapter=chapter, subject=subject_name, inside=inside)
    shown = "".join(f"# {line}\n" for line in solution(subject_name).splitlines())
    return f"{entry}\n# The source:\n{shown}"
