"""What `clearhead learn dev check` proves, for one subject; `make course` runs it for all."""

from dataclasses import replace
from pathlib import Path

import pytest

from clearhead.errors import UserError
from clearhead.learn import observe
from clearhead.learn.client import Grader
from clearhead.learn.dev import _of_entry, _of_exercise, check_course
from clearhead.learn.manifest import CODING, CONTENT, course, subject
from clearhead.learn.source import Edit
from clearhead.learn.source import replace as replace_code
from tests.learn.subjects import subject_names

FOLDER = Path(str(CONTENT))
SEED_BLANKS = 7  # exercises that hold the blanks of the source problem set, Part 1
WRITTEN_TASKS = 4


def test_dev_check_finds_no_problem_in_a_subject() -> None:
    problems, lines = check_course(["residual"])
    assert not problems
    known = len(subject("residual").variants)
    assert f"recognized as itself: {known} of {known}; as another: 0" in lines[-1]


def test_there_are_enough_exercises_and_known_mistakes() -> None:
    coding = [e for e in course().exercises if e.kind in CODING]
    assert len(course().exercises) >= 50 and len(coding) >= 40
    assert sum(len(subject(name).variants) for name in subject_names()) >= 150
    assert all(len(subject(e.subject).variants) >= 3 for e in coding)
    assert {e.chapter for e in course().exercises} == set(course().chapters)


def test_every_blank_and_written_task_of_the_source_problem_set_is_there() -> None:
    seeds = [e.seeds for e in course().exercises if e.seeds.startswith("Part 1")]
    written = {s for s in seeds if "Written Task" in s}
    assert len(written) == WRITTEN_TASKS and len(seeds) - len(written) >= SEED_BLANKS


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"title": " "}, "the title is empty"),
        ({"task": ""}, "the task is empty"),
        ({"hints": ("", "", "")}, "expected 3 hints (idea, formula, shape)"),
    ],
)
def test_an_entry_with_an_empty_text_is_a_problem(changes: dict[str, str], problem: str) -> None:
    exercise = course().exercise("scale")
    assert not list(_of_entry(exercise))
    assert list(_of_entry(replace(exercise, **changes))) == [problem]  # type: ignore[arg-type]


@pytest.mark.parametrize("old", ["", "x +", "a; b"])
def test_an_edit_of_no_code_is_one_line(old: str) -> None:
    with pytest.raises(UserError, match="is not one expression or statement"):
        replace_code("x = 1\n", Edit("", old, "2"))


def test_an_exercise_whose_blank_is_no_code_is_a_problem_of_one_line() -> None:
    exercise = replace(course().exercise("scale"), blanks=(Edit("attention", "", "____"),))
    (problem,) = _of_exercise(exercise, Grader())
    assert problem == "`` is not one expression or statement; correct the edit"


def test_an_unknown_probe_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observe, "subject", lambda name: replace(subject(name), probe="residul"))
    problems = list(_of_exercise(course().exercise("residual"), Grader()))
    assert problems == ["subject residual: no probe is called residul"]


def test_every_mistake_names_a_lesson_that_exists() -> None:
    titles = {f"{number}. {title}" for number, title in course().chapters.items()}
    known = [subject(name) for name in subject_names()]
    named = {s.lesson for s in known} | {v.lesson for s in known for v in s.variants}
    assert named - {""} <= titles


def test_every_file_of_the_content_belongs_to_an_exercise() -> None:
    used = subject_names()
    assert {path.stem for path in (FOLDER / "subjects").glob("*.toml")} == set(used)
    sources = {address.partition(":")[0] for name in used for address in subject(name).source}
    references = {path.stem for path in (FOLDER / "reference").glob("*.py")} - {"__init__"}
    used_too = {s.rpartition(".")[2] for s in sources if ".learn.content.reference." in s}
    assert references == used_too
