"""A class's submissions: every file gets a row, whatever is in it."""

import csv
import io
import json
import os
import sys
from pathlib import Path

import pytest

from clearhead.errors import UserError
from clearhead.learn.manifest import course
from clearhead.learn.notebooks import code, notebook, text_of
from clearhead.learn.report import Check, Mistake, Report, exercism, github_classroom, gradescope
from clearhead.learn.teacher import Graded, Submission, grade_all, submissions, summary, to_csv
from clearhead.learn.texts import solution, variant_text

WRONG = variant_text("residual", "post-norm")
FILES = {
    "ada/residual.py": solution("residual").encode(),
    "bob/week1/residual.py": WRONG.encode(),
    "cy__residual.py": WRONG.encode(),
    "dee/residual.py": b"\xff\xfe\x00broken",
    "eve/residual.py": b"import os\nos._exit(0)",
    "flo/notes.py": b"no exercise",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path


def test_every_submission_has_a_row_and_the_mistakes_are_counted(folder: Path) -> None:
    graded = list(grade_all(submissions(folder), jobs=1))
    rows = list(csv.DictReader(io.StringIO(to_csv(graded))))
    passed = {row["student"]: row["passed"] for row in rows}
    assert passed == {"ada": "1", "bob": "0", "cy": "0", "dee": "0", "eve": "0"}
    assert [r["mistakes"] for r in rows if r["student"] in ("bob", "cy")] == ["post-norm"] * 2
    text = summary(graded)
    assert "residual: 1 of 5 passed" in text and "2 × post-norm" in text
    assert {name: (folder / name).read_bytes() for name in FILES} == FILES


@pytest.mark.skipif(sys.platform == "win32", reason="links and such names need Unix")
def test_links_pipes_and_odd_names_have_a_row(folder: Path) -> None:
    (folder / "gil").mkdir()
    (folder / "gil" / "residual.py").symlink_to(folder / "ada" / "residual.py")
    (folder / "hal" / "residual.py").mkdir(parents=True)
    os.mkfifo(folder / "ida__residual.py")
    odd = os.fsdecode(b"j\xff")
    (folder / odd).mkdir()
    (folder / odd / "residual.py").write_text("(", encoding="utf-8")
    (folder / "..__residual.py").write_text(solution("residual"), encoding="utf-8")
    graded = list(grade_all(submissions(folder), jobs=1))
    rows = {r["student"]: r for r in csv.DictReader(io.StringIO(to_csv(graded)))}
    assert all("a link or a folder" in rows[name]["message"] for name in ("gil", "hal", "ida"))
    assert "j\\udcff" in rows and ".." not in rows
    to_csv(graded).encode("utf-8")


def test_a_submission_does_not_take_the_place_of_a_module(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "json.py").write_text("raise SystemExit", encoding="utf-8")
    monkeypatch.chdir(folder)
    graded = list(grade_all([s for s in submissions(folder) if s.student == "ada"], jobs=1))
    assert [one.report.passed for one in graded] == [True]


def test_no_two_answers_have_the_same_student_and_exercise(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = (
        "hw1/ben/residual.py", "hw1/anna/residual.py", "hw1/carl__residual.py", "eve/scale.py",
        "eve/old/scale.py", "eve/02_attention/scores.py",
    )  # fmt: skip
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    assert sorted(one.student for one in submissions(tmp_path)) == [
        "carl", "eve", "eve/old/scale.py", "eve/scale.py",
        "hw1/anna/residual.py", "hw1/ben/residual.py",
    ]  # fmt: skip
    assert [record.getMessage() for record in caplog.records] == [
        f"{student} has more than one answer to {name}; each is listed under its file's path. Give "
        "the folder that holds one folder for each student"
        for student, name in (("eve", "scale"), ("hw1", "residual"))
    ]


def test_what_prevented_a_check_is_counted_by_kind() -> None:
    caret = "invalid syntax\n    return step*\n                ^"
    errors = [caret, "'(' was never closed\n    f(\n     ^", "stopped after 5 s"]
    reports = [Report("residual", error=error, line=3) for error in errors]
    reports.append(Report("residual", (Check("laws", False),)))
    one = Submission("ada", course().exercise("residual"), Path())
    graded = [Graded(one, report) for report in reports]
    counted = summary(graded).splitlines()[3:]
    assert [line.strip() for line in counted] == [
        "2 × syntax error", "1 × stopped after 5 s", "1 × not passed, no known mistake",
    ]  # fmt: skip
    assert to_csv(graded).splitlines()[1].endswith("line 3: invalid syntax return step*")


def test_a_folder_without_submissions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no submissions"):
        submissions(tmp_path)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("ada/residul.py", "no exercise is called residul; did you mean residual"),
        ("bob/week1/my-answer.py", "no exercise is called my-answer; `clearhead learn list`"),
        ("cy__residuals.py", "no exercise is called residuals; did you mean residual"),
        (
            "residual.py",
            "no student is named; expected STUDENT/EXERCISE.py or STUDENT__EXERCISE.py",
        ),
    ],
)
def test_a_file_that_is_not_graded_is_named_with_the_reason(
    name: str, reason: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    course_files = ("eve/README.md", "eve/.ipynb_checkpoints/a.py", "eve/residual.py", "data.csv")
    for file in (name, *course_files):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("", encoding="utf-8")
    assert [one.student for one in submissions(tmp_path)] == ["eve"]
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage().startswith(f"{tmp_path / name} is not graded: {reason}")


@pytest.mark.parametrize("name", ["ada/residual.zip", "cy__residual.tar.gz"])
def test_an_archive_is_named_with_the_reason(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for file in (name, "eve/residual.py"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("", encoding="utf-8")
    assert [one.student for one in submissions(tmp_path)] == ["eve"]
    (record,) = caplog.records
    assert record.getMessage() == (
        f"{tmp_path / name} is not graded: archives are not opened; "
        "expected STUDENT/EXERCISE.py or STUDENT__EXERCISE.py"
    )


def write_notebook(path: Path, *cells: str) -> None:
    """A notebook as Jupyter saves it, with the output of an image."""
    image = {"output_type": "display_data", "data": {"image/png": "A" * 1000}, "metadata": {}}
    written = [{**code(text), "outputs": [image]} for text in cells]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text_of(notebook("a", written, {})), encoding="utf-8")


RESIDUAL = 'check("residual")'


def test_notebooks_are_graded_as_files_are(tmp_path: Path) -> None:
    right, broken = solution("residual"), "%%time\nclass ResidualConnection(nn.Module:"
    later = "\n\nclass ResidualConnection(nn.Module):\n    norm = nothing"
    written = 'why_keys = """' + "each query returns an average of the values " * 3 + '"""'
    write_notebook(tmp_path / "anna.ipynb", right, "while True: pass", RESIDUAL)
    write_notebook(tmp_path / "ben" / "set1.ipynb", WRONG, RESIDUAL, written, 'check("why-keys")')
    write_notebook(tmp_path / "Copy of carl__set2.ipynb", broken, RESIDUAL)
    write_notebook(tmp_path / "dee.ipynb", "from torch import nn", later, RESIDUAL)
    write_notebook(tmp_path / "eve.ipynb", "x = 1", RESIDUAL, 'check("scale")')
    graded = list(grade_all(submissions(tmp_path), jobs=1))
    rows = list(csv.DictReader(io.StringIO(to_csv(graded))))
    assert [(r["student"], r["exercise"], r["passed"], r["mistakes"]) for r in rows] == [
        ("carl", "residual", "0", ""), ("anna", "residual", "1", ""),
        ("ben", "residual", "0", "post-norm"), ("ben", "why-keys", "0", ""),
        ("dee", "residual", "0", ""), ("eve", "residual", "0", ""), ("eve", "scale", "0", ""),
    ]  # fmt: skip
    messages = {row["student"]: row["message"] for row in rows}
    assert messages["carl"].startswith("line 2: ") and messages["eve"] == "not done"
    assert messages["dee"].startswith("line 3: NameError")
    text = summary(graded)
    assert "residual: 1 of 5 passed" in text and text.count("1 × not done") == 1
    assert "\nnot done: scale\n" in text and "scale: 0 of" not in text
    assert "1 × syntax error" in text and "1 × post-norm" in text


def test_a_notebook_that_is_not_graded_is_named_with_the_reason(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_notebook(tmp_path / "eve.ipynb", solution("residual"), RESIDUAL)
    write_notebook(tmp_path / ".ipynb_checkpoints" / "eve-checkpoint.ipynb", RESIDUAL)
    write_notebook(tmp_path / "flo.ipynb", "1 + 1", 'check("nothing")')
    (tmp_path / "ada.ipynb").write_text('{"cells": [', encoding="utf-8")
    (tmp_path / "bob.ipynb").mkdir()
    assert [one.student for one in submissions(tmp_path)] == ["eve"]
    reasons = [record.getMessage().partition(" is not graded: ")[2] for record in caplog.records]
    assert reasons == [
        "this is not a notebook, or it is damaged; open it in Jupyter",
        "this is a link or a folder; submit the file itself",
        'no cell has a check("EXERCISE")',
    ]


def test_of_two_notebooks_of_a_student_the_answers_are_taken_not_the_open_cells(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_notebook(tmp_path / "eve" / "set1.ipynb", RESIDUAL, 'check("scale")')
    write_notebook(tmp_path / "eve" / "set1 (1).ipynb", WRONG, RESIDUAL, 'check("scale")')
    found = submissions(tmp_path)
    assert [(s.student, s.exercise.name, bool(s.text)) for s in found] == [
        ("eve", "residual", True), ("eve", "scale", False),
    ]  # fmt: skip
    assert not caplog.records
    write_notebook(tmp_path / "eve" / "set1.ipynb", WRONG, RESIDUAL)
    names = ["eve/set1 (1).ipynb", "eve", "eve/set1.ipynb"]
    assert [one.student for one in submissions(tmp_path)] == names


def test_the_table_says_that_only_the_length_of_a_text_was_checked(tmp_path: Path) -> None:
    (tmp_path / "ada__residual.py").write_text(solution("residual"), encoding="utf-8")
    (tmp_path / "ada__why-keys.md").write_text("word " * 40, encoding="utf-8")
    text = "each query returns an average of the values so its weights over all keys sum to one"
    (tmp_path / "bob__why-keys.md").write_text(text, encoding="utf-8")
    graded = list(grade_all(submissions(tmp_path), jobs=1))
    rows = list(csv.DictReader(io.StringIO(to_csv(graded))))
    assert [(row["checked"], row["passed"]) for row in rows] == [
        ("results", "1"), ("length only", "0"), ("length only", "1"),
    ]  # fmt: skip


def test_a_library_among_the_submissions_costs_a_few_lines(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "flo" / "venv").mkdir()
    for number in range(300):
        (folder / "flo" / "venv" / f"part{number}.py").touch()
    submissions(folder)
    assert len(caplog.records) < 20 and "more are not graded" in caplog.records[-1].getMessage()


def test_a_message_cannot_become_a_formula_of_a_spreadsheet(folder: Path) -> None:
    (folder / "=cmd").mkdir()
    (folder / "=cmd" / "residual.py").write_text("(", encoding="utf-8")
    graded = list(grade_all([s for s in submissions(folder) if s.student == "=cmd"], jobs=1))
    assert to_csv(graded).splitlines()[1].startswith("'=cmd,")


def test_escape_sequences_of_an_answer_do_not_reach_the_terminal() -> None:
    report = Report("scale", error="\x1b[2Jboom", printed="\x1b]0;title\x07\rhello\n\tthere")
    assert "\x1b" not in str(report) and "\x07" not in str(report) and "\r" not in str(report)
    assert "hello\n\tthere" in str(report)


def test_reports_keep_the_schemas_of_other_programs() -> None:
    good = Report("scale", (Check("laws", True),))
    bad = Report("scale", (Check("laws", False, "why"),), (Mistake("m", "d", "l"),))
    broken = Report("scale", error="no file")
    tables = [json.loads(exercism(r)) for r in (good, bad, broken)]
    assert [t["status"] for t in tables] == ["pass", "fail", "error"]
    assert tables[0]["version"] == 2 and tables[0]["message"] is None
    assert tables[1]["tests"] == [{"name": "laws", "status": "fail", "message": "why"}]
    assert json.loads(gradescope([good, bad]))["tests"][0]["score"] == 1.0
    assert json.loads(github_classroom([good, bad]))["status"] == "fail"


def test_suffixes_in_capitals_are_graded_or_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("ana__scale.py", "ben__scale.PY", "cem.IPYNB", "dan.ZIP"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    assert [one.student for one in submissions(tmp_path)] == ["ana", "ben"]
    assert "cem.IPYNB is not graded" in caplog.text and "dan.ZIP is not graded" in caplog.text
