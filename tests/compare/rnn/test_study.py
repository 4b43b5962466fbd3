"""The whole road in its quick form, from the command line to the files."""

import json
from pathlib import Path

import pytest

from clearhead.cli.main import run
from clearhead.compare.rnn.entrants import NAMES, make
from clearhead.compare.rnn.lesson import Learner
from clearhead.compare.rnn.translation import Course, read
from clearhead.compare.rnn.wall import full_batch, kept
from clearhead.compare.rnn.writing import write
from clearhead.errors import UserError
from tests.compare.rnn.sizes import TINY


def test_one_command_makes_report_numbers_and_pictures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = tmp_path / "mine.tsv"
    lines = [f"word {i}\tmot {i}\n" for i in range(30)]
    corpus.write_text("".join(lines), encoding="utf-8")
    out = tmp_path / "new" / "report"
    assert run(["compare", "rnn", "--quick", "-o", str(out), "--data", str(corpus)]) == 0
    assert capsys.readouterr().out.strip() == str(out / "report.md")
    report = (out / "report.md").read_text(encoding="utf-8")
    for name in ("wall", "gradients", "recall", "lesson_1", "lesson_2", "writing"):
        assert f"]({name}.png)" in report
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    record = json.loads((out / "numbers.json").read_text(encoding="utf-8"))
    assert list(record["sizes"]) == NAMES
    assert all(finding["sentence"] in report for finding in record["findings"])
    assert [lesson["title"] for lesson in record["lessons"]] == ["Grammar corpus", "mine.tsv"]


def test_what_cannot_be_done_is_said_before_anything_is_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = tmp_path / "file"
    there.write_text("", encoding="utf-8")
    assert run(["compare", "rnn", "-o", str(there)]) == 2
    assert "is a file; give a directory" in capsys.readouterr().err
    assert run(["compare", "rnn", "-o", str(tmp_path), "--data", "nowhere.tsv"]) == 2
    assert "nowhere.tsv does not exist" in capsys.readouterr().err


def test_nobody_is_judged_on_what_it_learns_from(tmp_path: Path) -> None:
    corpus = tmp_path / "mine.tsv"
    lines = [f"word {i % 20}\tmot {i}\n" for i in range(60)]
    corpus.write_text("".join(lines), encoding="utf-8")
    pairs, dev = read(Course("t", str(corpus), str(corpus), 40, 9, 1.0, [1.0], 64, 400))
    assert len(dev) == 9
    assert not {pair.source for pair in pairs} & {pair.source for pair in dev}
    with pytest.raises(UserError, match="too few pairs"):
        read(Course("t", str(corpus), str(corpus), 0, 60, 1.0, [1.0], 64, 400))


def test_a_states_size_does_not_grow_with_what_is_written() -> None:
    for name in NAMES:
        model = make(name, TINY, seed=1).eval()
        short, long = write(model, 3).nbytes, write(model, 40).nbytes
        assert (long > short) == (name == "Transformer")
        if name == "Transformer":  # a key and a value a layer, 4 bytes a number
            assert long - short == 37 * 2 * TINY.decoder_layers * TINY.d_model * 4


@pytest.mark.parametrize("name", NAMES)
def test_memory_for_the_way_back_grows_with_the_tokens(name: str) -> None:
    learner = Learner(make(name, TINY, seed=1))
    one, three = (kept(learner, full_batch(TINY, tokens, 8)) for tokens in (32, 96))
    assert 2.0 < three / one < 3.5
