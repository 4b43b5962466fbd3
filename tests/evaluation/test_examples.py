import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.errors import UserError
from clearhead.evaluation.examples import (
    check_writable,
    default_name,
    read_examples,
    read_hypotheses,
    write_hypotheses,
)
from tests.evaluation.tiny import pairs


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8", newline="\n")
    return str(path)


def test_pairs_with_an_empty_side_are_kept(tmp_path: Path) -> None:
    spec = write(tmp_path / "a.en", "a\n\nc\n") + "," + write(tmp_path / "a.fr", "x\ny\n\n")
    examples = read_examples(spec)
    assert examples.sources == ["a", "", "c"]
    assert examples.references == ["x", "y", ""]
    assert examples.grammar is None


def test_a_limit_takes_the_first(tmp_path: Path) -> None:
    spec = write(tmp_path / "t.tsv", "a\tx\nb\ty\nc\tz\n")
    assert read_examples(spec, 2).sources == ["a", "b"]
    assert len(read_examples(spec, 9)) == 3


def test_the_grammar_adds_its_annotations() -> None:
    examples = read_examples("grammar:test:50", 12)
    assert examples.grammar == pairs()
    assert examples.references == [pair.target for pair in pairs()]
    assert read_examples("grammar:test:12:7").sources != examples.sources


@pytest.mark.parametrize("spec", ["grammar:test:0", "empty.tsv"])
def test_an_empty_test_set_is_refused(
    spec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "empty.tsv", "")
    with pytest.raises(UserError, match="holds no pair"):
        read_examples(spec)


def test_a_limit_of_0_is_refused() -> None:
    with pytest.raises(UserError, match="limit=0"):
        read_examples("grammar:test:5", 0)


LINE = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n\ufeff"), max_size=12)


@given(lines=st.lists(LINE, max_size=6))
def test_written_hypotheses_are_read_unchanged(
    lines: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("hypotheses") / "x.hyp"
    write_hypotheses(path, lines)
    assert read_hypotheses(path, len(lines)) == lines


@pytest.mark.parametrize("wanted", [1, 3])
def test_a_different_number_of_lines_is_refused(wanted: int, tmp_path: Path) -> None:
    path = tmp_path / "x.hyp"
    write_hypotheses(path, ["a", "b"])
    with pytest.raises(UserError, match=f"2 lines and the test set has {wanted}"):
        read_hypotheses(path, wanted)


def test_with_a_limit_the_first_lines_are_read(tmp_path: Path) -> None:
    write_hypotheses(tmp_path / "x.hyp", ["a", "b", "c"])
    assert read_hypotheses(tmp_path / "x.hyp", 2, limited=True) == ["a", "b"]
    with pytest.raises(UserError, match="3 lines"):
        read_hypotheses(tmp_path / "x.hyp", 4, limited=True)


@pytest.mark.parametrize(
    ("data", "model", "name"),
    [
        ("test.tsv", "runs/mine/best", "test.mine-best.hyp"),
        ("some/test.tsv", "runs/mine/best", "some-test.mine-best.hyp"),
        ("../test.tsv", None, "test.shipped.hyp"),
        ("test.en,test.fr", "models/en_fr", "test.en_fr.hyp"),
        ("grammar:test:1000:3", None, "grammar-test-1000-3.shipped.hyp"),
        ("a/x.tsv + b/y.en,b/y.fr", None, "a-x+b-y.shipped.hyp"),
        ("hf:org/name:en-fr:test", None, "hf-org-name-en-fr-test.shipped.hyp"),
    ],
)
def test_names_contain_the_test_set_and_the_model(data: str, model: str, name: str) -> None:
    assert default_name(data, Path(model) if model else None) == Path(name)


def test_a_part_of_a_test_set_has_another_name_than_the_whole() -> None:
    names = [default_name("test.tsv", None, limit=limit) for limit in (None, 2, 3)]
    assert len(set(names)) == 3 and names[1] == Path("test-first-2.shipped.hyp")


def test_an_unwritable_location_is_refused_beforehand(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    check_writable(tmp_path / "new" / "deep" / "x.hyp")
    with pytest.raises(UserError, match="it is a directory"):
        check_writable(tmp_path)
    with pytest.raises(UserError, match="is not a writable directory"):
        check_writable(tmp_path / "file" / "x.hyp")


@pytest.mark.parametrize(
    ("spec", "output", "role"),
    [
        ("a.tsv", "a.tsv", "the test set"),
        ("a.en,a.fr", "a.fr", "the test set"),
        ("b.tsv + a.en,a.fr", "link", "the test set"),
        ("comma,name.tsv", "comma,name.tsv", "the test set"),
        ("a.tsv", "./other.hyp", "the file of --against"),
        ("grammar:test:3", "other.hyp", "the file of --against"),
    ],
)
def test_a_file_that_is_read_is_not_overwritten(
    spec: str, output: str, role: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.tsv", "b.tsv", "a.en", "a.fr", "comma,name.tsv", "other.hyp", "old.hyp"):
        write(Path(name), "x")
    Path("link").symlink_to("a.fr")
    others = {"--against": Path("other.hyp"), "--tokenized-references": None}
    with pytest.raises(UserError, match=f"{role}; give another file with --output"):
        check_writable(Path(output), spec, others)
    check_writable(Path("old.hyp"), spec, others)  # of an earlier evaluation
    check_writable(Path("new.hyp"), spec, others)


def test_a_device_is_read_and_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # as for users other than root
    check_writable(Path("/dev/null"), "/dev/null,/dev/null")
