"""The texts of an exercise: its file as the learner receives it, and its solution."""

import textwrap
from functools import cache
from itertools import pairwise, takewhile

from clearhead.errors import UserError
from clearhead.learn.edits import apply_edits, body_removed
from clearhead.learn.manifest import CODING, Exercise, course, subject
from clearhead.learn.source import Edit, excerpt

INSTRUCTIONS = {
    "blank": "Replace every ____, save, and run:",
    "write": "Replace every `raise NotImplementedError`, save, and run:",
    "bug": "Find the mistake and correct it, save, and run:",
    "predict": "Replace every ____ by your prediction before you run anything, save, and run:",
    "quiz": "Replace every ____ by the letter of an answer, as in \"b\", save, and run:",
    "written": "Write your answer below the line, save, and run:",
}  # fmt: skip
RULE = "-" * 72


@cache
def solution(subject_name: str) -> str:
    """The source of a subject, cut from the library."""
    return excerpt(subject(subject_name).source)


def variant_text(subject_name: str, *names: str) -> str:
    """The solution with the edits of one or two known wrong variants.

    Raises:
        UserError: an edit does not fit the source, or both change the same expression.
    """
    if len(names) == 1:
        return apply_edits(solution(subject_name), subject(subject_name).variant(names[0]).edits)
    text = solution(subject_name)
    lines = text.splitlines(keepends=True)
    changes = sorted(_changed_lines(subject_name, name) for name in names)
    if all(a[1] <= b[0] for a, b in pairwise(changes)):  # in different lines: no need to parse
        for first, end, new in reversed(changes):
            lines[first:end] = new
        return "".join(lines)
    variants = [subject(subject_name).variant(name) for name in names]
    try:
        return apply_edits(text, [e for v in variants for e in v.edits])
    except UserError:  # one edit may contain what the other replaces: the larger one first
        return apply_edits(text, [e for v in reversed(variants) for e in v.edits])


@cache
def _changed_lines(subject_name: str, name: str) -> tuple[int, int, tuple[str, ...]]:
    """The lines of the solution that a variant changes, and what stands there instead."""
    old = solution(subject_name).splitlines(keepends=True)
    new = variant_text(subject_name, name).splitlines(keepends=True)
    first = _common(old, new)
    after = _common(old[first:][::-1], new[first:][::-1])
    return first, len(old) - after, tuple(new[first : len(new) - after])


def _common(a: list[str], b: list[str]) -> int:
    """How many lines two texts have in common at their beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))


def file_name(exercise: Exercise) -> str:
    """`attention/scale.py`, `attention/why_keys.md`: below the learner's folder."""
    words = "".join(c if c.isalnum() else " " for c in course().chapters[exercise.chapter].lower())
    folder = f"{exercise.chapter:02d}_{'_'.join(words.split())}"
    return f"{folder}/{exercise.name}.{'md' if exercise.kind == 'written' else 'py'}"


def starting_text(exercise: Exercise) -> str:
    """The file as the learner receives it."""
    if exercise.kind == "written":
        return f"{_heading(exercise)}\n\n{RULE}\n\n"
    body = "\n" + starting_code(exercise)
    return f'"""{_heading(exercise)}\n"""\n{body}'


def starting_code(exercise: Exercise) -> str:
    """The code of the file: the solution with its blanks, its bugs, or without its bodies."""
    text = solution(exercise.subject)
    text = apply_edits(text, [Edit(b.inside, b.old, b.show, b.nth) for b in exercise.blanks])
    for path in exercise.bodies:
        text = body_removed(text, path)
    edits = [e for name in exercise.bugs for e in subject(exercise.subject).variant(name).edits]
    text = apply_edits(text, edits)
    return text if exercise.kind in CODING else _without_docstring(text)


def _heading(exercise: Exercise) -> str:
    task = "\n\n".join(
        textwrap.fill(" ".join(part.split()), 88) for part in exercise.task.strip().split("\n\n")
    )
    title = f"{course().number(exercise)} {exercise.title}"
    command = f"    clearhead learn check {exercise.name}"
    return f"{title}\n\n{task}\n\n{INSTRUCTIONS[exercise.kind]}\n\n{command}"


def _without_docstring(text: str) -> str:
    """A reference file's own docstring describes the solution, not the exercise."""
    if not text.startswith('"""'):
        return text
    return text[text.index('"""', 3) + 3 :].lstrip("\n")
