from pathlib import Path

import pytest

from clearhead.errors import UserError
from clearhead.evaluation.examples import read_examples
from tests.evaluation.tiny import pairs


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8", newline="\n")
    return str(path)


def test_pairs_with_an_empty_side_keep_their_place(tmp_path: Path) -> None:
    spec = write(tmp_path / "a.en", "a\n\nc\n") + "," + write(tmp_path / "a.fr", "x\ny\n\n")
    examples = read_examples(spec)
    assert examples.sources == ["a", "", "c"]
    assert examples.references == ["x", "y", ""]
    assert examples.grammar is None


def test_a_limit_takes_the_first(tmp_path: Path) -> None:
    spec = write(tmp_path / "t.tsv", "a\tx\nb\ty\nc\tz\n")
    assert read_examples(spec, 2).sources == ["a", "b"]
    assert len(read_examples(spec, 9)) == 3


def test_the_grammar_brings_what_it_knows() -> None:
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


def test_a_limit_of_nothing_is_refused() -> None:
    with pytest.raises(UserError, match="limit=0"):
        read_examples("grammar:test:5", 0)
