"""The problem sets as nbgrader's assignments: what the release keeps, and what is a point."""

import ast
import re
from pathlib import Path

import pytest

from clearhead.learn.build import main
from clearhead.learn.manifest import course
from clearhead.learn.notebooks import Cell
from clearhead.learn.notebooks.problem_sets import BEGIN, END, marked, nbgrader_source
from clearhead.learn.texts import solution

NUMBERS = range(1, len(course().parts) + 1)
STUB = "raise NotImplementedError()"


def graded(number: int, kind: str) -> dict[str, Cell]:
    """The cells that are a `solution` or a `grade`, by their grade_id."""
    cells = [c for c in nbgrader_source(number)["cells"] if "nbgrader" in c["metadata"]]
    return {
        c["metadata"]["nbgrader"]["grade_id"]: c for c in cells if c["metadata"]["nbgrader"][kind]
    }


def released(source: str) -> str:
    """What nbgrader makes of a cell: each region becomes the stub, at the region's indentation."""
    region = rf"^( *){BEGIN}\n.*?^ *{END}$"
    return re.sub(region, rf"\1{STUB}", source, flags=re.MULTILINE | re.DOTALL)


def test_every_exercise_has_a_solution_and_one_point() -> None:
    names = [name for number in NUMBERS for name in graded(number, "solution")]
    assert names == [e.name for e in course().exercises]
    checks = {name: c for number in NUMBERS for name, c in graded(number, "grade").items()}
    assert [name.removesuffix("-check") for name in checks] == names
    for cell in checks.values():
        about = cell["metadata"]["nbgrader"]
        assert about["points"] == 1 and about["locked"] and not about["solution"]


@pytest.mark.parametrize("number", NUMBERS)
def test_the_release_is_python_without_the_solutions(number: int) -> None:
    for name, cell in graded(number, "solution").items():
        text = released(cell["source"])
        ast.parse(text)
        assert STUB in text and BEGIN not in text and END not in text, name
        if course().exercise(name).kind == "written":
            assert course().exercise(name).answer.strip().splitlines()[0] not in text


@pytest.mark.parametrize("number", NUMBERS)
def test_the_marks_change_no_line_of_a_solution(number: int) -> None:
    for name, cell in graded(number, "solution").items():
        exercise = course().exercise(name)
        if exercise.kind != "written":
            lines = [x for x in cell["source"].splitlines() if x.strip() not in {BEGIN, END}]
            assert lines == solution(exercise.subject).strip("\n").splitlines()


def test_the_marks_enclose_whole_statements_and_join_neighbours() -> None:
    solved = "def f(x):\n    y = (x +\n         1)\n    z = y\n    w = z\n    return w\n"
    given = "def f(x):\n    y = (x +\n         ____)\n    z = ____\n    w = z\n    return w\n"
    expected = (
        f"def f(x):\n    {BEGIN}\n    y = (x +\n         1)\n    z = y\n    {END}\n"
        "    w = z\n    return w"
    )
    assert marked(solved, given) == expected


def test_each_part_is_written_where_nbgrader_looks_for_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["nbgrader", "-o", str(tmp_path)]) == 0
    written = capsys.readouterr().out.split()
    assert len(written) == len(NUMBERS)
    assert all(re.search(r"/(part_\d_\w+)/\1\.ipynb$", path) for path in written)
