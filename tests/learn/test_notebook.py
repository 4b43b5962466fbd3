"""In a notebook the exercise is found by the object, and the result is a card."""

import linecache
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from clearhead.blocks import ResidualConnection
from clearhead.errors import UserError
from clearhead.learn import check
from clearhead.learn.manifest import course
from clearhead.learn.notebook import heat_cell
from clearhead.learn.notebooks.problem_sets import open_text
from clearhead.learn.observe import known_record
from clearhead.learn.texts import solution


class FeedForwardBlock(nn.Module):
    """A learner's, with a known mistake."""

    def __init__(self, d_model: int, d_ff: int, dropout: float) -> None:
        super().__init__()
        self.linear_1, self.linear_2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear_2(self.dropout(torch.tanh(self.linear_1(x))))


def test_the_librarys_own_block_passes() -> None:
    result = check(ResidualConnection)
    assert result.passed and "checks passed" in repr(result)


def test_a_mistake_is_named_on_the_card_beside_both_matrices() -> None:
    result = check(FeedForwardBlock)
    assert [m.name for m in result.report.mistakes] == ["tanh"]
    html = result._repr_html_()
    assert "expected" in html and "actual" in html and "http" not in html and "<script" not in html


@pytest.mark.parametrize("edit", ["", "\nprint(1)"])
def test_the_mistake_of_a_bug_exercise_is_not_named_until_its_cell_is_edited(
    monkeypatch: pytest.MonkeyPatch, edit: str
) -> None:
    main = sys.modules["__main__"]
    cell = open_text(course().exercise("bug-residual")) + edit
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(cell, names)
    for name, value in {**names, "In": ["", cell]}.items():
        monkeypatch.setattr(main, name, value, raising=False)
    report = check("bug-residual").report
    assert not report.passed and bool(report.mistakes) == bool(edit)


def test_an_open_blank_is_reported_as_one() -> None:
    def shift_right(labels: torch.Tensor, bos_id: int) -> torch.Tensor:
        return labels.roll(____, dims=bos_id)  # type: ignore[name-defined]  # noqa: F821

    assert "the blank ____ is not filled in yet" in repr(check(shift_right))


def test_a_written_task_shows_the_model_answer_only_after_an_answer() -> None:
    main = vars(sys.modules["__main__"])
    enough = "each query returns an average of the values so its weights over all keys sum to 1"
    answers = {"too short": False, "each query returns an average of the values " * 3: False}
    answers |= {enough: True}
    try:
        for answer, passed in answers.items():
            main["why_keys"] = answer
            result = check("why-keys")
            assert result.passed == passed
            assert ("A model answer" in result._repr_html_()) == passed
    finally:
        del main["why_keys"]


def test_a_cell_that_was_not_run_or_failed_does_not_pass_with_an_older_definition() -> None:
    main = vars(sys.modules["__main__"])
    try:
        main["In"] = ["", solution("attention")]
        exec(solution("attention"), main)
        assert check("scale").passed and check("scale").passed
        shown = repr(check("scores"))
        assert "attention is still the one that was checked for 2.1; run the cell of 2.2" in shown
        assert not check("write-attention").passed and check(main["attention"], "scores").passed
        exec(solution("attention"), main)
        assert check("scores").passed
        main["In"].append("def attention(query, key, value:\n    pass")
        assert "has a syntax error; correct and run the cell of 2.2" in repr(check("scores"))
        main["In"].append('check("scores")')
        assert not check("scores").passed
    finally:
        for name in ("In", "attention"):
            main.pop(name, None)


def test_a_check_without_arguments_finds_the_exercise_of_the_last_answer() -> None:
    main = vars(sys.modules["__main__"])
    try:
        with pytest.raises(UserError, match=r'run its cell, or name it, as in check\("scale"\)'):
            check()
        main["In"] = ["", "residual = 1", solution("post_norm"), "x = ResidualConnection(0.1)"]
        exec(solution("post_norm"), main)
        assert check().report.exercise == "post-norm" and check().passed
        main["In"].append('mask_of_bert = "b"')
        assert check().report.exercise == "quiz-families"
        main["In"] += ['why_keys = "each query"\ncheck()', "print(attention == 1)", "check()"]
        main["why_keys"] = "each query"
        assert check().report.exercise == "why-keys"
        main["In"].append(solution("attention"))
        with pytest.raises(UserError, match=r'write check\("scale"\) or check\("scores"\) or '):
            check()
    finally:
        for name in ("In", "PostNormResidualConnection", "why_keys"):
            main.pop(name, None)


def test_a_card_shows_the_elements_of_a_mask_as_true_and_false() -> None:
    assert ">True<" in heat_cell(True, 1.0) and ">1.00<" in heat_cell(1.0, 1.0)


def test_one_function_is_checked_without_the_others_of_its_subject() -> None:
    def look_ahead_mask(size: int, device: str | None = None) -> torch.Tensor:
        return torch.ones(1, 1, size, size, device=device).tril().bool()

    def padding_mask(ids: torch.Tensor, pad_id: int) -> torch.Tensor:
        return (ids != pad_id)[:, None, None]

    assert check(padding_mask).passed
    assert "decoder_mask" in repr(check(look_ahead_mask))  # its exercise asks for both


def test_a_function_of_an_exercise_about_a_whole_module_is_found() -> None:
    def greedy(model: Any, bos_id: int, eos_id: int, max_length: int) -> list[int]:
        ids = [bos_id]
        while len(ids) <= max_length and (token := int(model(ids).argmax())) != eos_id:
            ids.append(token)
        return ids[1:]

    assert check(greedy).passed


def test_a_check_leaves_the_default_dtype_as_it_is() -> None:
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        assert check(ResidualConnection).passed
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(before)


def test_the_settings_of_a_notebook_do_not_change_a_report() -> None:
    torch.set_default_device("meta")  # on a GPU it would be "cuda"
    try:
        with torch.no_grad():
            result = check(FeedForwardBlock)
    finally:
        torch.set_default_device(None)
    assert result.report == check(FeedForwardBlock).report


def test_a_check_shows_no_warning_of_a_known_mistake(recwarn: pytest.WarningsRecorder) -> None:
    def attention(query: Any, key: Any, value: Any, mask: Any, dropout: Any) -> Any:
        return query @ key.transpose(-2, -1) @ value, mask

    known_record.cache_clear()  # a mistake of an earlier test has been run already
    torch.set_warn_always(True)
    try:
        assert not check(attention, "write-attention").passed
    finally:
        torch.set_warn_always(False)
    assert not recwarn.list


def test_one_interrupt_ends_a_check() -> None:
    def shift_right(labels: torch.Tensor, bos_id: int) -> torch.Tensor:
        raise KeyboardInterrupt  # the learner ends an endless loop

    torch.set_default_dtype(torch.float64)
    try:
        with pytest.raises(KeyboardInterrupt):
            check(shift_right)
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_an_error_is_reported_with_its_line_of_the_cell(tmp_path: Path) -> None:
    cell = "def shift_right(labels, bos_id):\n    return labels.rol(1)"
    name = str(tmp_path / "ipykernel_1" / "2.py")  # as ipykernel names a cell
    names: dict[str, Any] = {}
    linecache.cache[name] = (len(cell), None, cell.splitlines(keepends=True), name)
    exec(compile(cell, name, "exec"), names)
    message = "line 2: AttributeError: 'Tensor' object has no attribute 'rol'; did you mean roll?"
    assert message in repr(check(names["shift_right"]))


def test_an_object_that_no_exercise_asks_for_is_refused() -> None:
    with pytest.raises(UserError, match="no exercise asks for Tensor"):
        check(torch.Tensor)


def test_the_names_that_exercises_ask_for_are_listed_without_an_empty_one() -> None:
    with pytest.raises(UserError, match="expected one of Decoder, "):
        check(torch.Tensor)


@pytest.mark.parametrize("answer", [5, None, nn.Identity()])
def test_an_object_without_a_name_is_refused(answer: Any) -> None:
    with pytest.raises(UserError, match="is no class or function; give one, or an exercise's name"):
        check(answer)


def test_an_infinite_value_has_the_full_colour() -> None:
    assert "var(--negative) 60%" in heat_cell(float("-inf"), 1.0)
