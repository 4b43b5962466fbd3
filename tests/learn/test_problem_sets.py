"""Problem sets: every exercise once, blanks open, and the solved edition passes every check."""

import json
import re
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from clearhead.learn.manifest import course
from clearhead.learn.notebooks import Notebook, text_of
from clearhead.learn.notebooks.problem_sets import file_stem, problem_set
from clearhead.learn.source import BLANK

FOLDER = Path(__file__).parents[2] / "book" / "problem_sets"
NUMBERS = range(1, len(course().parts) + 1)


def checked(notebook: Notebook) -> list[str]:
    """The exercises that the notebook's cells check, in order."""
    return re.findall(r'check\("([\w-]+)"\)', "\n".join(c["source"] for c in notebook["cells"]))


def test_the_problem_sets_hold_every_exercise_once() -> None:
    names = [name for number in NUMBERS for name in checked(problem_set(number))]
    assert names == [exercise.name for exercise in course().exercises]


@pytest.mark.parametrize("number", NUMBERS)
def test_the_stored_problem_set_is_the_one_of_the_manifest(number: int) -> None:
    """If not: `make sets`."""
    stored = (FOLDER / f"{file_stem(number)}.ipynb").read_text(encoding="utf-8")
    assert stored == text_of(problem_set(number))
    nbformat.validate(nbformat.reads(stored, as_version=4))


def test_no_problem_set_is_left_that_the_manifest_does_not_have() -> None:
    assert {p.stem for p in FOLDER.glob("*")} == {file_stem(number) for number in NUMBERS}


@pytest.mark.parametrize("number", NUMBERS)
def test_the_open_edition_holds_a_blank_or_an_empty_body_for_each_exercise(number: int) -> None:
    cells = problem_set(number)["cells"]
    for cell, check in pairwise(cells):
        if check["source"].startswith("check("):
            open_ones = [BLANK, "raise NotImplementedError", "find the mistake"]
            assert any(text in cell["source"] for text in open_ones), check["source"]


def test_the_open_edition_does_not_hold_a_model_answer() -> None:
    everything = "".join(json.dumps(problem_set(number)) for number in NUMBERS)
    for exercise in course().exercises:
        if exercise.kind == "written":
            assert exercise.answer.strip().splitlines()[0] not in everything


def results(notebook: Notebook, folder: Path) -> dict[str, str]:
    """What each check cell shows, by exercise, after every cell has run."""
    run = nbformat.from_dict(notebook)  # type: ignore[no-untyped-call]
    resources = {"metadata": {"path": str(folder)}}
    client = NotebookClient(
        run,
        timeout=600,
        startup_timeout=600,
        kernel_name="python3",
        resources=resources,
        allow_errors=True,
    )
    client.execute()
    found = {}
    for cell in run.cells:
        if name := re.fullmatch(r'check\("([\w-]+)"\)', cell.source):
            shown = [o["data"]["text/plain"] for o in cell.outputs if "data" in o]
            found[name[1]] = "".join(shown) or str(cell.outputs)
    return found


@pytest.mark.parametrize("number", NUMBERS)
def test_every_solution_passes_its_check_in_a_kernel(number: int, tmp_path: Path) -> None:
    shown = results(problem_set(number, solved=True), tmp_path)
    assert {name: text for name, text in shown.items() if ": passed: " not in text} == {}


def test_an_open_notebook_runs_to_its_end_and_passes_no_exercise(tmp_path: Path) -> None:
    shown = results(problem_set(5), tmp_path)
    assert shown and not [name for name, text in shown.items() if ": passed: " in text]
