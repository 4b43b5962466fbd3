"""Answers in notebooks are found as a reader would find them, without running a cell."""

import json
from typing import Any

import pytest

from clearhead.errors import UserError
from clearhead.learn.manifest import course
from clearhead.learn.notebooks import code_of, text_of
from clearhead.learn.notebooks.handed_in import handed_in
from clearhead.learn.notebooks.problem_sets import nbgrader_source, problem_set
from clearhead.learn.source import BLANK
from clearhead.learn.texts import solution, starting_text

SCALE = solution("attention")
OPEN = problem_set(1)["cells"]


def texts_of(*cells: str) -> dict[str, str]:
    """The answers in cells of code, by the names of their exercises."""
    return {exercise.name: text for exercise, text in handed_in(cells).items()}


@pytest.mark.parametrize("number", range(1, len(course().parts) + 1))
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


@pytest.mark.parametrize(
    "change", ["PAIRS['N'] = 'N'", "PAIRS |= {'N': 'N'}", "PAIRS = {**PAIRS, 'N': 'N'}"]
)
def test_a_value_of_another_cell_has_its_later_changes(change: str) -> None:
    answer = "def k_mers(s, k, stride): ...\n\ndef reverse_complement(s):\n    return PAIRS"
    cells = ("PAIRS = {'A': 'T'}\n" + change, answer, 'check("k-mers")')
    names: dict[str, Any] = {}
    exec(texts_of(*cells)["k-mers"], names)
    assert names["PAIRS"] == {"A": "T", "N": "N"}


def test_an_answer_is_its_cell_without_magics_and_checks() -> None:
    extra = "%matplotlib inline\nprint(1)\nfrom clearhead.learn import check\n"
    text = texts_of(extra + SCALE + '!ls\nattention?\ncheck("scale")')["scale"]
    assert text == "pass\nprint(1)\n\n" + SCALE + "pass\npass\n"


def test_an_answer_that_imports_a_future_feature_can_be_read_below_another_cell() -> None:
    future = "from __future__ import annotations\n"
    [text] = texts_of("import math", future + "d = math.pi\n" + SCALE + 'check("scale")').values()
    compile(text, "answer", "exec")


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


@pytest.mark.parametrize(
    "change",
    [
        ("    d_k = query", "    # raise NotImplementedError\n    d_k = query"),
        ("    d_k = query", "    if False:\n        raise NotImplementedError\n    d_k = query"),
        ("@ value, weights\n", "@ value, weights\n    raise NotImplementedError\n"),
    ],
)
def test_a_stub_that_is_left_in_a_finished_cell_is_no_stub(change: tuple[str, str]) -> None:
    text = solution("attention").replace(*change)
    assert text != solution("attention")
    assert list(handed_in([text, 'check("write-attention")']).values()) == [text]


def test_a_body_that_is_still_the_stub_is_not_done() -> None:
    text = starting_text(course().exercise("write-attention")).replace("Equation 1", "Equation one")
    assert list(handed_in([text, 'check("write-attention")']).values()) == [""]


@pytest.mark.parametrize(
    "both",
    [
        'check("scale")\ncheck("padding-mask")',
        'check("scale"); check("padding-mask")',
        'for name in ("scale", "padding-mask"): check(name)',
        'for name in ["scale", "padding-mask"]:\n    check(name)',
    ],
)
def test_a_cell_may_check_several_exercises(both: str) -> None:
    masks = solution("masks")
    assert texts_of(SCALE, masks, both) == {"scale": SCALE, "padding-mask": masks}


MASK = "def padding_mask(ids, pad_id):\n    return helper(ids, pad_id)\n"
USED_IN_A_CLASS = """
class Masks:
    def show(self, helper): ...
    def pad(self, ids, pad_id):
        return helper(ids, pad_id)

def padding_mask(ids, pad_id):
    return Masks().pad(ids, pad_id)
"""


@pytest.mark.parametrize(
    ("other", "answer"),
    [
        ("try:\n    from a import helper\nexcept ImportError:\n    pass", MASK),
        ("if True:\n    def helper(x, y): ...", MASK),
        ("def helper(x, y): ...", MASK + "\nrows = [helper for helper in range(3)]\n"),
        ("def helper(x, y): ...", USED_IN_A_CLASS),
    ],
)
def test_what_an_answer_uses_of_another_cell_is_found_as_python_finds_it(
    other: str, answer: str
) -> None:
    text = texts_of(other, answer, 'check("padding-mask")')["padding-mask"]
    assert text.startswith(other[:8]) and text.endswith(answer)
