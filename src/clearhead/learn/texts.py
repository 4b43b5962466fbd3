"""The texts of an exercise: its file as the learner receives it, and its solution."""

import re
import textwrap
from functools import cache

from clearhead.errors import UserError
from clearhead.learn.manifest import CODING, Exercise, course, slug, subject, texts
from clearhead.learn.report import Check, Report
from clearhead.learn.source import apply_edits, body_removed, excerpt

RULE = "-" * 72  # a written answer stands below it
FEWEST_WORDS = 15


@cache
def solution(subject_name: str) -> str:
    """The source of a subject, cut from the library."""
    return excerpt(subject(subject_name).source)


def solution_text(exercise: Exercise) -> str:
    """The solution of an exercise, or the model answer of a written task."""
    if exercise.kind == "written":
        return exercise.answer.strip() + "\n"
    return solution(exercise.subject)


def variant_text(subject_name: str, *names: str) -> str:
    """The solution with the edits of one or two known wrong variants.

    Raises:
        UserError: an edit does not fit the source, or both change the same expression.
    """
    variants = [subject(subject_name).variant(name) for name in names]
    text = solution(subject_name)
    try:
        return apply_edits(text, [e for v in variants for e in v.edits])
    except UserError:  # one edit may contain what the other replaces: the larger one first
        return apply_edits(text, [e for v in reversed(variants) for e in v.edits])


def file_name(exercise: Exercise) -> str:
    """`03_masks/padding-mask.py`, `04_multi_head_attention/queries-keys-values.md`: its file."""
    folder = f"{exercise.chapter:02d}_{slug(course().chapters[exercise.chapter])}"
    return f"{folder}/{exercise.name}.{'md' if exercise.kind == 'written' else 'py'}"


def variable_of(exercise: Exercise) -> str:
    """The variable that holds the answer to a written task: `why_keys`."""
    return exercise.name.replace("-", "_")


def starting_text(exercise: Exercise) -> str:
    """The file as the learner receives it."""
    if exercise.kind == "written":
        return f"{_heading(exercise)}\n\n{RULE}\n\n"
    body = "\n" + starting_code(exercise)
    return f'"""{_heading(exercise)}\n"""\n{body}'


def starting_code(exercise: Exercise) -> str:
    """The code of the file: the solution with its blanks, its bugs, or without its bodies."""
    text = apply_edits(solution(exercise.subject), exercise.blanks)
    for path in exercise.bodies:
        text = body_removed(text, path)
    edits = [e for name in exercise.bugs for e in subject(exercise.subject).variant(name).edits]
    text = apply_edits(text, edits)
    return text if exercise.kind in CODING else _without_docstring(text)


def _heading(exercise: Exercise) -> str:
    task = "\n\n".join(textwrap.fill(part, 88) for part in paragraphs(exercise.task))
    title = f"{course().number(exercise)} {exercise.title}"
    command = f"    clearhead learn check {exercise.name}"
    instruction = texts()["kind"][exercise.kind]["instruction"]
    return f"{title}\n\n{task}\n\n{instruction}\n\n{command}"


def paragraphs(text: str) -> list[str]:
    """Each paragraph as one line."""
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text.strip())]


def _without_docstring(text: str) -> str:
    """A reference file's own docstring describes the solution, not the exercise."""
    if not text.startswith('"""'):
        return text
    return text[text.index('"""', 3) + 3 :].lstrip("\n")


def answer_of(text: str) -> str:
    """What stands below the line of the file, without the self-assessment."""
    below = text.rpartition(RULE)[2] if RULE in text else text
    return below.partition("## Self-assessment")[0].strip()


def assess(exercise: Exercise, text: str) -> Report:
    """One check: is there an answer? Its quality is assessed by the learner herself."""
    words = len(set(re.findall(r"\w+", answer_of(text).lower())))
    enough = words >= FEWEST_WORDS
    check = Check(f"at least {FEWEST_WORDS} different words", enough, f"{words} so far")
    return Report(exercise.name, (check,))


def model_answer(exercise: Exercise) -> str:
    """The model answer and the rubric, to be read after answering."""
    points = "\n".join(f"- [ ] {point}" for point in exercise.rubric)
    return f"A model answer:\n\n{exercise.answer.strip()}\n\nYour answer says that …\n{points}\n"
