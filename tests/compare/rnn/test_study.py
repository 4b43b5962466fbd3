"""The quick study, from the command line to its files; costs of training and decoding."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from clearhead.cli.main import run
from clearhead.compare.rnn.costs import activation_bytes, batch_of, decode_tokens
from clearhead.compare.rnn.study import _translation, quick_study
from clearhead.compare.rnn.training import SimpleTrainer, TranslationTask, read_pairs
from clearhead.compare.rnn.translator import NAMES, make_model
from clearhead.errors import UserError
from tests.compare.rnn.sizes import TINY

FIGURES = (
    "training_step", "gradients", "recall", "translation_1", "translation_2", "decoding"
)  # fmt: skip


def test_one_command_writes_report_values_and_plots(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = tmp_path / "mine.tsv"
    lines = [f"word {i}\tmot {i}\n" for i in range(30)]
    corpus.write_text("".join(lines), encoding="utf-8")
    out = tmp_path / "new" / "report"
    assert run(["compare", "rnn", "--quick", "-o", str(out), "--data", str(corpus)]) == 0
    assert capsys.readouterr().out.strip() == str(out / "report.md")
    report = (out / "report.md").read_text(encoding="utf-8")
    for name in FIGURES:
        assert f"]({name}.png)" in report
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    record = json.loads((out / "numbers.json").read_text(encoding="utf-8"))
    assert list(record["sizes"]) == NAMES
    assert all(finding["sentence"] in report for finding in record["findings"])
    assert [curves["title"] for curves in record["translation"]] == ["Grammar corpus", "mine.tsv"]


def test_the_report_counts_the_pairs_that_were_trained_on(tmp_path: Path) -> None:
    corpus = tmp_path / "mine.tsv"
    corpus.write_text("".join(f"word {i}\tmot {i}\n" for i in range(30)), encoding="utf-8")
    study = quick_study(str(corpus))
    tasks = [replace(task, seconds=0.01) for task in study.translation]
    found, _ = _translation(replace(study, translation=tasks), lambda line: None)
    assert [curves.pairs for curves in found] == [60, 21]  # 9 of 30 are for evaluation


def test_invalid_arguments_are_refused_before_measuring(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = tmp_path / "file"
    there.write_text("", encoding="utf-8")
    assert run(["compare", "rnn", "-o", str(there)]) == 2
    assert "is a file; give a directory" in capsys.readouterr().err
    for study in ("rnn", "d-model"):
        assert run(["compare", study, "--quick", "-o", str(there / "report")]) == 2
        err = capsys.readouterr().err
        assert "is not a writable directory" in err and err.count("\n") == 1
    assert run(["compare", "rnn", "-o", str(tmp_path), "--data", "nowhere.tsv"]) == 2
    assert "nowhere.tsv does not exist" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"one\tun\n", b"one\tun\n\xff\tdeux\n"])
def test_a_corpus_that_cannot_be_trained_on_is_refused_before_measuring(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = tmp_path / "mine.tsv"
    corpus.write_bytes(content)
    assert run(["compare", "rnn", "--quick", "-o", str(tmp_path), "--data", str(corpus)]) == 2
    err = capsys.readouterr().err
    assert "mine.tsv" in err and err.count("\n") == 1


@pytest.mark.parametrize("between", [",", " + "])
def test_the_title_names_every_file_without_its_directory(between: str) -> None:
    study = quick_study(f"private/a.tsv{between}private/b.tsv")
    assert study.translation[-1].title == f"a.tsv{between}b.tsv"


def test_training_and_development_pairs_are_disjoint(tmp_path: Path) -> None:
    corpus = tmp_path / "mine.tsv"
    lines = [f"word {i % 20}\tmot {i}\n" for i in range(60)]
    corpus.write_text("".join(lines), encoding="utf-8")
    pairs, dev = read_pairs(
        TranslationTask("t", str(corpus), str(corpus), 40, 9, 1.0, [1.0], 64, 400)
    )
    assert len(dev) == 9
    assert not {pair.source for pair in pairs} & {pair.source for pair in dev}
    with pytest.raises(UserError, match="too few pairs"):
        read_pairs(TranslationTask("t", str(corpus), str(corpus), 0, 60, 1.0, [1.0], 64, 400))


def test_the_state_of_an_rnn_does_not_grow_with_the_translation() -> None:
    for name in NAMES:
        model = make_model(name, TINY, seed=1).eval()
        short, long = decode_tokens(model, 3).nbytes, decode_tokens(model, 40).nbytes
        assert (long > short) == (name == "Transformer")
        if name == "Transformer":  # a key and a value per layer, 4 bytes per element
            assert long - short == 37 * 2 * TINY.decoder_layers * TINY.d_model * 4


@pytest.mark.parametrize("name", NAMES)
def test_activation_memory_is_proportional_to_the_tokens(name: str) -> None:
    trainer = SimpleTrainer(make_model(name, TINY, seed=1))
    one, three = (activation_bytes(trainer, batch_of(TINY, tokens, 8)) for tokens in (32, 96))
    assert 2.0 < three / one < 3.5
