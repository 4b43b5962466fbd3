"""`clearhead learn`: each output shows the command that comes next."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clearhead.cli.main import run
from clearhead.learn.client import Grader
from clearhead.learn.folder import locate, start
from clearhead.learn.manifest import course
from clearhead.learn.report import Report
from clearhead.learn.session import Session
from clearhead.learn.teacher import Graded, Submission
from clearhead.learn.texts import file_name, solution

ANSWER = "an RNN needs n steps one after the other and attention only one for all words at once"


def test_the_first_exercise_is_passed_after_three_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["learn"]) != 0
    assert "change to your folder, or run `clearhead learn start`" in capsys.readouterr().err
    assert run(["learn", "start"]) == 0
    shown = capsys.readouterr().out
    folder = re.search(r"cd (\S+)", shown)
    edited = re.search(r"Edit (\S+) and run: clearhead learn check$", shown, re.MULTILINE)
    assert folder and edited
    monkeypatch.chdir(folder[1])
    with Path(edited[1]).open("a", encoding="utf-8") as file:
        file.write(ANSWER)
    assert run(["learn", "check"]) == 0
    shown = capsys.readouterr().out
    following = re.search(r"Edit (\S+), then run: clearhead learn check (\S+)$", shown)
    assert "1 of 1 checks passed" in shown and following
    assert run(["learn", "check", following[1]]) == run(["learn", "check", following[2]]) == 1
    assert f"file: {following[1]}" in capsys.readouterr().out
    Path(following[1]).write_text(solution("attention"), encoding="utf-8")
    assert run(["learn", "check", following[2]]) == 0
    assert "Next: " in capsys.readouterr().out


def test_start_names_the_next_exercise_of_a_folder_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    start(tmp_path)
    with Session(tmp_path, Grader()).changed() as progress:
        progress.passed[course().exercises[0].name] = "passed"
    monkeypatch.chdir(tmp_path)
    assert run(["learn", "start", "."]) == 0
    shown = capsys.readouterr().out
    assert f"Edit {file_name(course().exercises[1])} and run" in shown and "cd " not in shown


def test_only_what_failed_must_be_solved_to_skip_a_chapter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    start(tmp_path)
    path = locate(tmp_path, course().exercise("look-ahead-mask"))
    path.write_text(solution("masks"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert run(["learn", "test-out", "3"]) == 1
    solve = capsys.readouterr().out.splitlines()[-1]
    assert "write-attention" in solve and "look-ahead-mask" not in solve


def test_the_results_so_far_are_written_when_grading_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for student in ("ada", "bob"):
        (tmp_path / f"{student}__residual.py").touch()

    def interrupted(every: list[Submission], *_: object) -> Iterator[Graded]:
        yield Graded(every[0], Report("residual", error="empty"))
        raise KeyboardInterrupt

    monkeypatch.setattr("clearhead.learn.teacher.grade_all", interrupted)
    monkeypatch.chdir(tmp_path)
    assert run(["learn", "grade", ".", "-o", "g.csv", "--json", "results"]) != 0
    table = Path("g.csv").read_text(encoding="utf-8")
    assert table.startswith("\ufeffstudent,"), "by which Excel recognizes UTF-8"
    assert "ada,residual" in table and "bob" not in table
    assert Path("results/ada/residual.json").exists()


def test_the_table_is_written_once_and_the_progress_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for student in ("ada", "bob", "cy"):
        (tmp_path / f"{student}__residual.py").touch()
    written = []

    def graded(every: list[Submission], jobs: int, done: Callable[[int], None]) -> Iterator[Graded]:
        for count, one in enumerate(every, start=1):
            done(count)
            yield Graded(one, Report("residual", error="empty"))

    monkeypatch.setattr("clearhead.learn.teacher.grade_all", graded)
    monkeypatch.setattr("clearhead.files.atomic_write", lambda path, _: written.append(path))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert run(["learn", "grade", str(tmp_path), "-o", "g.csv"]) == 0
    assert written == [Path("g.csv")]
    assert capsys.readouterr().err.replace("\r", "|") == (
        "|1 of 3 graded|2 of 3 graded|3 of 3 graded\n"
    )
