"""`clearhead embed`, `fill-mask`, `classify`: files whole or not at all, one line for bad input."""

import gzip
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from clearhead.cli.main import run
from clearhead.models.weight_files import SHIPPED
from clearhead.pipelines.embedding import Embedder
from tests.cli.messages import without_engine
from tests.pipelines.gpt import gpt
from tests.pipelines.models import LABELS, bert, esm, labelled

Call = Callable[..., tuple[int, str, str]]
LINES = ["A man rides a bicycle.", "", "The cat sleeps."]
FASTA = ">sp|P1 the first\nMKTAY\nIAKQR*\n>P2\nmkt\n"


@pytest.fixture
def call(capsysbinary: pytest.CaptureFixture[bytes]) -> Call:
    def call(*arguments: object) -> tuple[int, str, str]:
        code = run(list(map(str, arguments)))
        out, err = capsysbinary.readouterr()
        return code, out.decode(), without_engine(err.decode())

    return call


@pytest.fixture
def model(tmp_path: Path) -> Path:
    directory = tmp_path / "model"
    directory.mkdir()
    bert(directory, "BertModel")
    return directory


def test_tsv_npz_and_python_say_the_same(model: Path, tmp_path: Path, call: Call) -> None:
    source = tmp_path / "lines.txt"
    source.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    expected = Embedder.from_pretrained(model).encode(LINES)
    code, out, err = call("embed", "--model", model, source)
    head, *rows = [row.split("\t") for row in out.splitlines()]
    assert (code, err) == (0, "") and head == ["id", *map(str, range(24))]
    assert [row[0] for row in rows] == ["1", "2", "3"]
    # Nine digits are all that a float32 has.
    assert np.array_equal(np.array([row[1:] for row in rows], np.float32), expected)
    for name in ("out.npz", "out.tsv"):
        assert call("embed", "--model", model, source, "-o", tmp_path / name) == (0, "", "")
    assert (tmp_path / "out.tsv").read_text(encoding="utf-8") == out
    with np.load(tmp_path / "out.npz") as found:
        assert found["ids"].tolist() == ["1", "2", "3"] and "headers" not in found
        assert np.array_equal(found["embeddings"], expected)


def test_fasta_keeps_names_and_headers_also_compressed_and_unpooled(
    tmp_path: Path, call: Call
) -> None:
    (tmp_path / "esm").mkdir()
    esm(tmp_path / "esm", "EsmModel")
    source, output = tmp_path / "some.fa.gz", tmp_path / "out.npz"
    source.write_bytes(gzip.compress(FASTA.encode()))
    options = ("embed", "--model", tmp_path / "esm", source)
    assert call(*options, "-o", output, "--pooling", "none")[0] == 0
    with np.load(output) as found:
        assert found["ids"].tolist() == ["sp|P1", "P2"]
        assert found["headers"].tolist() == ["sp|P1 the first", "P2"]
        assert found["offsets"].tolist() == [0, 12, 17]  # residues and two signs each
        assert found["embeddings"].shape == (17, 24)
        second = found["embeddings"][12:17]
    _, out, _ = call(*options, "--pooling", "inner")
    row = np.array(out.splitlines()[2].split("\t")[1:], np.float32)
    assert np.abs(second[1:4].mean(0) - row).max() <= 1e-6
    _, out, _ = call(*options, "--pooling", "none")
    assert [line.split("\t")[:3] for line in out.splitlines()[13:16]] == [
        ["P2", "0", "<cls>"], ["P2", "1", "M"], ["P2", "2", "K"]
    ]  # fmt: skip


def test_bad_input_is_one_line_and_leaves_the_old_file(
    model: Path, tmp_path: Path, call: Call
) -> None:
    old = tmp_path / "old.tsv"
    old.write_text("what was there", encoding="utf-8")
    long, broken = tmp_path / "long.txt", tmp_path / "broken.fasta"
    long.write_text("ok\n" + "cat " * 60 + "\n", encoding="utf-8")
    broken.write_text(">a\nMK\n>b\nM1\n", encoding="utf-8")
    for arguments, said in (
        ((long, "-o", old), "input '2' has"),
        ((broken, "-o", old), "line 4: '1' (letter 2)"),
        ((tmp_path / "none.txt",), "no such file; expected a text or FASTA file"),
        ((tmp_path,), "it is a directory"),
        ((long, "-o", tmp_path / "x.csv"), "unknown file extension; give a name with .npz or .tsv"),
        ((long, "--device", "abacus"), "device 'abacus' is unknown"),
    ):
        code, _, err = call("embed", "--model", model, *arguments)
        assert code == 2 and said in err and err.count("\n") == 1
    assert old.read_text(encoding="utf-8") == "what was there"
    code, _, err = call("embed", "--model", model, long, "-o", old, "--truncate")
    assert code == 0 and "1 of 2 texts were cut to 48 tokens" in err


@pytest.mark.parametrize("pooling", ["mean", "none"])
def test_a_text_that_is_refused_leaves_no_header_on_standard_output(
    pooling: str, model: Path, tmp_path: Path, call: Call
) -> None:
    long, empty = tmp_path / "long.txt", tmp_path / "empty.txt"
    long.write_text("ok\n" + "cat " * 60 + "\n", encoding="utf-8")
    empty.write_text("", encoding="utf-8")
    code, out, _ = call("embed", "--model", model, long, "--pooling", pooling)
    assert (code, out) == (2, "")
    code, out, _ = call("embed", "--model", model, empty, "--pooling", pooling)
    assert code == 0 and out.startswith("id\t") and out.count("\n") == 1


@pytest.mark.parametrize("verb", ["embed", "fill-mask", "classify"])
def test_a_directory_without_an_encoder_is_named_with_what_it_holds(
    verb: str, tmp_path: Path, call: Call
) -> None:
    for name in ("empty", "gpt"):
        (tmp_path / name).mkdir()
    gpt(tmp_path / "gpt")
    source = tmp_path / "lines.txt"
    source.write_text("A [MASK].\n", encoding="utf-8")
    for directory, said in (
        (SHIPPED, "which translates and is no encoder; use `clearhead translate` with it"),
        (
            tmp_path / "gpt",
            "which continues texts and is no encoder; use `clearhead ge",
        ),
        (tmp_path / "empty", "a model directory holds config.json, model.safetensors"),
        ("", "the name of the model is empty"),
    ):
        code, _, err = call(verb, "--model", directory, source if verb == "embed" else "A [MASK].")
        assert code == 2 and said in err and err.count("\n") == 1


def test_a_mask_is_filled_in(tmp_path: Path, call: Call) -> None:
    bert(tmp_path, "BertForMaskedLM")
    code, out, _ = call("fill-mask", "--model", tmp_path, "The [MASK] sleeps.", "--top-k", 3)
    rows = [line.split(maxsplit=1) for line in out.splitlines()]
    assert code == 0 and len(rows) == 3
    assert [float(score) for score, _ in rows] == sorted(
        (float(score) for score, _ in rows), reverse=True
    )
    _, out, _ = call("fill-mask", "--model", tmp_path, "[MASK] or [MASK]", "--format", "jsonl")
    assert [len(found) for found in json.loads(out)] == [5, 5]
    code, _, err = call("fill-mask", "--model", tmp_path, "The cat sleeps.")
    assert code == 2 and "write [MASK] where a word is missing" in err and err.count("\n") == 1


def test_fill_mask_names_its_engine_as_the_other_commands_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bert(tmp_path, "BertForMaskedLM")
    command = ["fill-mask", "--model", str(tmp_path), "--engine", "readable", "The [MASK] sleeps."]
    assert run(command) == 0
    err = capsys.readouterr().err
    assert err.startswith("clearhead: readable, float32: ") and err.count("\n") == 1


def test_text_for_masks_that_is_not_utf8_is_one_line(
    tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\ncaf\xe9"), "utf-8"))
    for arguments, said in (
        (["caf\udce9 [MASK]"], "TEXT, character 4: 0xe9 is not valid UTF-8"),
        ([], "standard input, line 2, byte 4 of the line: 0xe9 is not valid UTF-8"),
    ):
        code, out, err = call("fill-mask", "--model", tmp_path, *arguments)
        assert (code, out, err.count("\n")) == (2, "", 1) and said in err


def test_texts_and_words_are_labelled_by_what_the_model_learned(
    tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, architecture, names in (
        ("texts", "BertForSequenceClassification", ["bad", "good"]),
        ("words", "BertForTokenClassification", LABELS[1:]),
    ):
        (tmp_path / name).mkdir()
        bert(tmp_path / name, architecture, **labelled(names))
    code, out, _ = call("classify", "--model", tmp_path / "texts", *LINES, "--top-k", 0)
    rows = [line.split("\t") for line in out.splitlines()]
    assert code == 0 and [set(row[::2]) for row in rows] == [{"bad", "good"}] * 3
    assert all(float(row[1]) + float(row[3]) == pytest.approx(1, abs=2e-4) for row in rows)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join(LINES).encode())))
    assert call("classify", "--model", tmp_path / "texts", "--top-k", 0)[1] == out
    _, out, _ = call("classify", "--model", tmp_path / "words", LINES[0], "--format", "jsonl")
    assert [LINES[0][one["start"] : one["end"]] for one in json.loads(out)] == [
        one["word"] for one in json.loads(out)
    ]
    assert "is a file" in call("classify", "--model", tmp_path / "texts", __file__)[2]
    code, _, err = call("classify", "--model", tmp_path / "texts", "x", "--top-k", -1)
    assert code == 2 and "--top-k -1" in err


def test_a_cell_of_classify_has_no_tab_and_options_of_the_other_kind_are_refused(
    tmp_path: Path, call: Call
) -> None:
    for name, architecture, names in (
        ("texts", "BertForSequenceClassification", ["bad", "good"]),
        ("words", "BertForTokenClassification", ["I-LOC"] * len(LABELS)),
    ):
        (tmp_path / name).mkdir()
        more = {"label2id": {"I-LOC": 0}} if name == "words" else {}
        bert(tmp_path / name, architecture, **{**labelled(names), **more})
    words, texts = (["classify", "--model", tmp_path / name] for name in ("words", "texts"))
    code, out, _ = call(*words, "the\ta")
    assert code == 0 and out.split("\t")[:2] == ["the a", "LOC"] and out.count("\t") == 4
    code, out, err = call(*words, "the a", "--top-k", 3)
    assert (code, out) == (2, "") and "--top-k 3 is for labels of texts" in err
    code, out, err = call(*texts, "the a", "--words", "max")
    assert (code, out) == (2, "") and "--words max is for labels of words" in err


def test_a_line_of_text_that_begins_as_fasta_does_is_a_text(
    tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    bert(tmp_path, "BertForSequenceClassification", **labelled(["bad", "good"]))
    (tmp_path / "mail.txt").write_text("> the film\ngood\nbad\n", encoding="utf-8")
    code, of_file, _ = call("classify", "--model", tmp_path, "-i", tmp_path / "mail.txt")
    text = (tmp_path / "mail.txt").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert call("classify", "--model", tmp_path)[:2] == (code, of_file) == (0, of_file)
    assert of_file.count("\n") == 3


def test_proteins_from_standard_input_are_those_of_the_file(
    tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    esm(tmp_path, "EsmForSequenceClassification", **labelled(["in", "out"]))
    (tmp_path / "two.fasta").write_text(FASTA)
    _, of_file, _ = call("classify", "--model", tmp_path, "-i", tmp_path / "two.fasta")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(FASTA.encode())))
    assert call("classify", "--model", tmp_path)[1] == of_file and of_file.count("\n") == 2


def test_a_line_from_a_pipe_is_classified_before_the_next_is_read(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed: list[object] = []

    class Pipe(io.BytesIO):
        def read1(self, size: int | None = -1) -> bytes:
            assert self.tell() == 0 or printed
            return super().readline()

    bert(tmp_path, "BertForSequenceClassification", **labelled(["bad", "good"]))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Pipe(b"A man.\nA cat.\n")))
    monkeypatch.setattr("builtins.print", lambda *words, **_: printed.extend(words))
    assert call("classify", "--model", tmp_path)[0] == 0 and len(printed) == 2
