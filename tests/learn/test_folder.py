"""The learner's folder: answers are never lost, progress survives moving and updates."""

import shutil
from pathlib import Path

import pytest

from clearhead.errors import UserError
from clearhead.learn.client import Grader
from clearhead.learn.folder import (
    FILE,
    Progress,
    digest,
    find_folder,
    locate,
    read_answer,
    reset,
    start,
)
from clearhead.learn.manifest import course
from clearhead.learn.pages import portfolio
from clearhead.learn.report import Report
from clearhead.learn.session import Session, assess_yourself, describe, what_next
from clearhead.learn.session import test_out_exercises as exercises_to_test_out
from clearhead.learn.texts import RULE, solution
from clearhead.learn.watch import Watch, listing


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    start(tmp_path / "course")
    return tmp_path / "course"


def test_every_exercise_has_a_file_and_a_second_start_changes_nothing(folder: Path) -> None:
    assert all(locate(folder, e).is_file() for e in course().exercises)
    again = start(folder)
    assert (again.new, again.refreshed, again.outdated) == (0, 0, ())


def test_an_update_refreshes_untouched_files_and_keeps_answers(folder: Path) -> None:
    progress = Progress.load(folder)
    untouched, answered = (course().exercise(n) for n in ("scale", "scores"))
    for exercise in (untouched, answered):  # as an older version handed them out
        locate(folder, exercise).write_text("old\n", encoding="utf-8")
        progress.handed_out[exercise.name] = digest("old\n")
    progress.save(folder)
    locate(folder, answered).write_text("my answer\n", encoding="utf-8")
    done = start(folder)
    assert done.refreshed == 1 and done.outdated == ("scores",)
    assert "____" in locate(folder, untouched).read_text(encoding="utf-8")
    assert locate(folder, answered).read_text(encoding="utf-8") == "my answer\n"


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UserError, match="not empty"):
        start(tmp_path)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(UserError, match=r"notes\.txt is a file; give a new folder's name"):
        start(tmp_path / "notes.txt")


def test_a_moved_folder_keeps_its_progress(folder: Path, tmp_path: Path) -> None:
    progress = Progress.load(folder)
    progress.passed["scale"] = "6 of 6 checks passed"
    progress.save(folder)
    shutil.move(folder, tmp_path / "elsewhere")
    inside = tmp_path / "elsewhere" / "02_scaled_dot_product_attention"
    assert Progress.load(find_folder(inside)).passed == {"scale": "6 of 6 checks passed"}


def test_a_damaged_progress_file_is_one_line(folder: Path) -> None:
    (folder / FILE).write_text("{", encoding="utf-8")
    with pytest.raises(UserError, match="your answers are kept, your progress is lost"):
        Progress.load(folder)


def test_a_folder_with_a_space_is_quoted_in_the_command(folder: Path) -> None:
    spaced = folder.rename(folder.with_name("my course"))
    (spaced / FILE).write_text("{", encoding="utf-8")
    with pytest.raises(UserError, match=f"`clearhead learn start '{spaced}'`"):
        Progress.load(spaced)


def test_answers_stay_when_the_progress_file_is_deleted(folder: Path) -> None:
    path = locate(folder, course().exercise("scale"))
    path.write_text("my answer\n", encoding="utf-8")
    (folder / FILE).unlink()
    again = start(folder)
    assert again.new == 0 and path.read_text(encoding="utf-8") == "my answer\n"


def test_outside_a_folder_the_message_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="change to your folder, or run `clearhead learn start`"):
        find_folder(tmp_path)


def test_reset_keeps_a_backup(folder: Path) -> None:
    exercise = course().exercise("scale")
    locate(folder, exercise).write_text("my answer\n", encoding="utf-8")
    done = reset(folder, exercise)
    backup = Path(done.removeprefix("scale is restored; your answer is saved in "))
    assert backup.read_text(encoding="utf-8") == "my answer\n"
    assert "____" in locate(folder, exercise).read_text(encoding="utf-8")
    assert reset(folder, exercise) == "scale was never edited"


def test_reset_says_that_it_restored_a_deleted_file_or_removed_a_pass(folder: Path) -> None:
    exercise = course().exercise("scale")
    locate(folder, exercise).unlink()
    assert reset(folder, exercise) == "scale is restored"
    progress = Progress.load(folder)
    progress.passed["scale"] = "6 of 6 checks passed"
    progress.save(folder)
    assert reset(folder, exercise) == "scale was never edited; it no longer counts as passed"
    assert Progress.load(folder).passed == {}


def test_an_answer_with_a_byte_order_mark_is_read(folder: Path) -> None:
    exercise = course().exercise("scale")
    locate(folder, exercise).write_text("x = 1\n", encoding="utf-8-sig")
    assert read_answer(folder, exercise) == "x = 1\n"


def test_a_terminal_keeps_what_another_one_has_saved(folder: Path, grader: Grader) -> None:
    watching, other = Session(folder, grader), Session(folder, grader)
    other.hint(course().exercise("scale"))
    with other.changed() as progress:
        progress.rubric["why-keys"] = [True]
        progress.skipped.append("5")
    exercise = course().exercise("residual")
    locate(folder, exercise).write_text(solution("residual"), encoding="utf-8")
    watching.check(exercise)
    watching.hint(course().exercise("scale"))
    kept = Progress.load(folder)
    assert kept.rubric == {"why-keys": [True]} and kept.skipped == ["5"]
    assert kept.hints == {"scale": 2} and "residual" in kept.passed


def test_a_chapter_of_written_tasks_alone_is_not_said_to_be_empty() -> None:
    with pytest.raises(UserError, match="chapter 1 has only written tasks"):
        exercises_to_test_out(1)
    with pytest.raises(UserError, match="there is no chapter 99"):
        exercises_to_test_out(99)


@pytest.mark.parametrize("name", ["2.1", "scale", "Scale", "02_attention/scale.py"])
def test_an_exercise_is_found_by_name_number_or_file(name: str) -> None:
    assert course().exercise(name).name == "scale"


def test_only_near_names_are_suggested() -> None:
    with pytest.raises(UserError, match=r"called scal; did you mean scale\? `"):
        course().exercise("scal")


def test_every_line_that_an_answer_printed_is_indented(folder: Path, grader: Grader) -> None:
    report = Report("scale", error="wrong", printed="one\ntwo")
    lines = describe(Session(folder, grader), course().exercise("scale"), report)
    assert "  one\n  two" in lines


def test_the_key_n_passes_over_what_is_done(folder: Path, grader: Grader) -> None:
    session, every = Session(folder, grader), course().exercises
    watch = Watch(session)
    with session.changed() as progress:
        progress.passed[every[1].name] = "1 of 1 checks passed"
    seen = [watch.current]
    for _ in range(2):
        watch.press("n")
        seen.append(watch.current)
    assert seen == [every[0], every[2], every[3]]


def test_hints_come_in_three_steps_and_the_solution_after_passing(
    folder: Path, grader: Grader
) -> None:
    session, exercise = Session(folder, grader), course().exercise("scale")
    shown = [session.hint(exercise) for _ in range(4)]
    assert [s.split(":")[0] for s in shown] == [
        "Hint 1, idea", "Hint 2, formula", "Hint 3, shape", "Hint 3, shape",
    ]  # fmt: skip
    with pytest.raises(UserError, match="--spoil"):
        session.solution(exercise, spoil=False)
    assert "attention/scale.py" in describe(session, exercise, session.check(exercise))[-2]
    locate(folder, exercise).write_text(solution("attention"), encoding="utf-8")
    assert "passed" in describe(session, exercise, session.check(exercise))[0]
    assert what_next(session)[-1].endswith("run: clearhead learn check why-not-rnn")
    assert session.solution(exercise, spoil=False) == solution("attention")


def test_a_written_task_needs_an_answer_which_the_portfolio_keeps(
    folder: Path, grader: Grader
) -> None:
    session, exercise = Session(folder, grader), course().exercise("why-keys")
    assert not session.check(exercise).passed
    path, answer = locate(folder, exercise), "the weights of one query sum to one " * 4
    path.write_text(path.read_text(encoding="utf-8") + answer, encoding="utf-8")
    assert not session.check(exercise).passed  # eight words, four times
    reset(folder, exercise)
    answer = "each query returns an average of the values so its weights over all keys sum to one"
    text = path.read_text(encoding="utf-8")
    assert text.rstrip().endswith(RULE)
    path.write_text(text + answer, encoding="utf-8")
    assert session.check(exercise).passed
    assert answer.strip() in portfolio(session)


def test_watch_mode_checks_what_was_saved_and_moves_on(
    folder: Path, grader: Grader, capsys: pytest.CaptureFixture[str]
) -> None:
    session = Session(folder, grader)
    watch = Watch(session)
    assert watch.current is course().exercises[0] and watch.changed() == []
    exercise = course().exercise("residual")
    locate(folder, exercise).write_text(solution("residual"), encoding="utf-8")
    assert watch.changed() == [exercise] and watch.changed() == []
    watch.press("h")
    watch.press("l")
    shown = capsys.readouterr().out
    assert "Hint 1" in shown and "Around the sublayer" in shown
    watch.press("n")
    assert watch.current is course().exercises[1]
    assert listing(session)[-1].endswith(f"of {len(course().exercises)}")


def test_an_edited_readme_and_two_answers_of_one_second_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.strftime", lambda _: "20260101-000000")
    start(tmp_path)
    (tmp_path / "README.md").write_text("my notes\n", encoding="utf-8")
    start(tmp_path)
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "my notes\n"
    exercise = course().exercise("scale")
    for answer in ("one\n", "two\n"):
        locate(tmp_path, exercise).write_text(answer, encoding="utf-8")
        reset(tmp_path, exercise)
    kept = sorted(path.read_text(encoding="utf-8") for path in tmp_path.glob("*/*.backup"))
    assert kept == ["one\n", "two\n"]


def test_a_capital_y_is_a_yes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start(tmp_path)
    session, replies = Session(tmp_path, Grader()), iter(["Y", " yes", "n", "N"])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda _: next(replies))
    assess_yourself(session, course().exercise("why-keys"))
    assert session.progress.rubric["why-keys"] == [True, True, False, False]
