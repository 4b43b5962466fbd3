from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.errors import UserError
from clearhead.evaluation.hypotheses import (
    check_writable,
    default_name,
    read_hypotheses,
    write_hypotheses,
)

LINE = st.text(st.characters(codec="utf-8", exclude_characters="\r\n\ufeff"), max_size=12)


@given(lines=st.lists(LINE, max_size=6))
def test_what_was_written_is_read_again(
    lines: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("hypotheses") / "x.hyp"
    write_hypotheses(path, lines)
    assert read_hypotheses(path, len(lines)) == lines


@pytest.mark.parametrize("wanted", [1, 3])
def test_another_number_of_lines_is_refused_with_both(wanted: int, tmp_path: Path) -> None:
    path = tmp_path / "x.hyp"
    write_hypotheses(path, ["a", "b"])
    with pytest.raises(UserError, match=f"2 lines and the test set has {wanted}"):
        read_hypotheses(path, wanted)


def test_of_a_limited_test_set_the_first_lines_count(tmp_path: Path) -> None:
    write_hypotheses(tmp_path / "x.hyp", ["a", "b", "c"])
    assert read_hypotheses(tmp_path / "x.hyp", 2, limited=True) == ["a", "b"]
    with pytest.raises(UserError, match="3 lines"):
        read_hypotheses(tmp_path / "x.hyp", 4, limited=True)


@pytest.mark.parametrize(
    ("data", "model", "name"),
    [
        ("some/test.tsv", "runs/mine/best", "test.mine-best.hyp"),
        ("test.en,test.fr", "models/en_fr", "test.en_fr.hyp"),
        ("grammar:test:1000:3", None, "grammar-test-1000-3.shipped.hyp"),
        ("a/x.tsv + b/y.en,b/y.fr", None, "x+y.shipped.hyp"),
        ("hf:org/name:en-fr:test", None, "hf-org-name-en-fr-test.shipped.hyp"),
    ],
)
def test_two_models_on_one_test_set_get_two_names(data: str, model: str, name: str) -> None:
    assert default_name(data, Path(model) if model else None) == Path(name)


def test_a_place_that_cannot_be_written_is_refused_beforehand(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    check_writable(tmp_path / "new" / "deep" / "x.hyp")
    with pytest.raises(UserError, match="it is a directory"):
        check_writable(tmp_path)
    with pytest.raises(UserError, match="no directory that you may write to"):
        check_writable(tmp_path / "file" / "x.hyp")
