"""Problem sets: every exercise once, blanks open, and the solved edition passes every check."""

import json
import re
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from clearhead.errors import UserError
from clearhead.learn.manifest import course
from clearhead.learn.notebooks import Notebook, code_of, text_of
from clearhead.learn.notebooks.problem_sets import (
    file_stem,
    handed_in,
    nbgrader_source,
    problem_set,
)
from clearhead.learn.source import BLANK
from clearhead.learn.texts import solution

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


SCALE = solution("attention")
OPEN = problem_set(1)["cells"]


def texts_of(*cells: str) -> dict[str, str]:
    """The answers in cells of code, by the names of their exercises."""
    return {exercise.name: text for exercise, text in handed_in(cells).items()}


@pytest.mark.parametrize("number", NUMBERS)
def test_every_answer_of_a_notebook_is_found_and_none_in_an_open_one(number: int) -> None:
    expected = course().inside(*course().parts[number - 1].chapters)
    for notebook in (problem_set(number, solved=True), nbgrader_source(number)):
        found = handed_in(code_of(text_of(notebook)))
        assert list(found) == expected
        for exercise, text in found.items():
            if exercise.kind == "written":
                assert exercise.answer.strip() in text
            else:
                kept = [line for line in text.splitlines() if "### " not in line]
                assert kept == solution(exercise.subject).strip().splitlines()
    assert set(handed_in(code_of(text_of(problem_set(number)))).values()) == {""}


def test_an_answer_is_its_cell_without_magics_and_checks() -> None:
    extra = "%matplotlib inline\nprint(1)\nfrom clearhead.learn import check\n"
    text = texts_of(extra + SCALE + '!ls\nattention?\ncheck("scale")')["scale"]
    assert text == "pass\nprint(1)\n\n" + SCALE + "pass\npass\n"


def test_an_answer_takes_imports_and_definitions_from_other_cells_and_nothing_else() -> None:
    cells = (
        "import torch, json\nfrom math import *\nfrom nowhere import x",
        "WIDTH = 3\nopen('data.csv')",
        "def helper(x):\n    return torch.relu(x) * WIDTH",
        "def helper(x):\n    return torch.relu(x)\nprint(helper(x))",
        "def padding_mask(ids, pad_id):\n    x = helper(ids)\n    return x",
        'check("padding-mask")',
    )
    expected = "import torch, json\nfrom math import *\ndef helper(x):\n    return torch.relu(x)\n"
    assert texts_of(*cells)["padding-mask"] == expected + cells[4]


def test_an_answer_in_two_cells_is_taken_from_both() -> None:
    one, two = "def padding_mask(ids, pad_id):\n    return ids\n", "def decoder_mask():\n    pass"
    assert texts_of(one, two, "1 + 1", 'check("padding-mask")')["padding-mask"] == one + two


def test_the_definition_of_another_exercise_is_no_answer() -> None:
    stub = "def attention(query, key, value, mask, dropout):\n    raise NotImplementedError()"
    found = texts_of(SCALE, 'check("scale")', stub, 'check("write-attention")', 'check("scores")')
    assert found["scale"] and found["write-attention"] == found["scores"] == ""


def test_an_exercise_that_is_checked_again_keeps_its_last_answer() -> None:
    better = SCALE.replace("d_k)", "d_k )")
    assert texts_of(SCALE, 'check("scale")', better, 'check("scale")')["scale"] == better
    assert texts_of(SCALE, 'check("scale")', "check('2.1')")["scale"] == SCALE


def test_of_copies_of_a_cell_the_last_edited_one_is_the_answer() -> None:
    given = next(cell["source"] for cell in OPEN if "/ ____" in cell["source"])
    for cells in ((SCALE, given), (given, SCALE), (SCALE + "\nx = 1", SCALE)):
        text = texts_of(*cells, 'check("scale")')["scale"]
        assert text == SCALE
    assert BLANK in texts_of(given.replace("weights =", "w ="), 'check("scale")')["scale"]


def test_a_cell_with_a_syntax_error_is_the_answer_unless_a_later_one_is_right() -> None:
    wrong = "%%time\ndef attention(query:\n    pass"
    check = 'check("scale")'
    assert texts_of(SCALE, wrong, check)["scale"] == "pass\ndef attention(query:\n    pass"
    assert texts_of(wrong, SCALE, check)["scale"] == SCALE
    assert texts_of("print(", SCALE, "attention(", "attention()", check)["scale"] == SCALE


def test_old_formats_are_read_and_what_is_no_notebook_is_refused() -> None:
    old = {"worksheets": [{"cells": [{"cell_type": "code", "input": ["x = 1\n", "y = 2"]}]}]}
    assert code_of(json.dumps(old)) == ["x = 1\ny = 2"]
    for text in ("", "[]", "{", '{"cells": [1]}', '{"cells": 1}', "[" * 100_000, '{"nbformat": 4}'):
        with pytest.raises(UserError, match="not a notebook, or it is damaged"):
            code_of(text)
