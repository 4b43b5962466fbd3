"""`clearhead trace`: sizes or a sentence in, a table, a page, markdown or JSON out."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from clearhead.cli.main import run

SMALL = ["--size", "tiny", "--vocab", "50", "--layers", "2"]


def test_sizes_give_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["trace", *SMALL, "--batch", "3", "--src-len", "9", "--tgt-len", "4"])
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    assert "(batch, h, tgt_len, src_len)" in out and "(3, 4, 4, 9)" in out


@pytest.mark.skipif(os.name == "nt", reason="Windows has no /dev/stdout")
def test_dev_stdout_is_appended_to_a_file_as_standard_output_is(tmp_path: Path) -> None:
    results = tmp_path / "results.txt"
    results.write_bytes(b"of an earlier command\n")
    options = ["--format", "md", "-o", "/dev/stdout"]
    command = [sys.executable, "-m", "clearhead", "trace", *SMALL, *options]
    with results.open("ab") as appended:
        subprocess.run(command, stdout=appended, check=True)
    first, second = results.read_text(encoding="utf-8").splitlines()[:2]
    assert first == "of an earlier command" and second.startswith("**Transformer: ")


def test_every_size_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = ["--d-model", "40", "--heads", "5", "--d-ff", "70", "--format", "json"]
    assert run(["trace", *SMALL, *sizes]) == 0
    text = capsys.readouterr().out
    root = json.loads(text)["root"]
    assert root["outputs"] == [{"axes": ["batch", "tgt_len", "vocab"], "shape": [2, 7, 50]}]
    for axes, shape in (
        (["batch", "h", "src_len", "d_k"], [2, 5, 10, 8]),
        (["batch", "src_len", "d_ff"], [2, 10, 70]),
    ):
        assert {"axes": axes, "shape": shape} in shapes(root)


def shapes(row: dict) -> list[dict]:
    return [*row["outputs"], *(shape for child in row["children"] for shape in shapes(child))]


def test_a_sentence_goes_through_the_shipped_model(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page = tmp_path / "deep" / "trace.html"
    assert run(["trace", "A man rides a bicycle.", "-o", str(page)]) == 0
    assert capsys.readouterr().out.startswith(f"{page}: ")
    text = page.read_text(encoding="utf-8")
    assert "A man rides a bicycle. →" in text and "Transformer" in text


def test_the_target_is_the_users_if_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["trace", "A man.", "--target", "Un homme.", "--format", "md"]) == 0
    assert capsys.readouterr().out.startswith("**Transformer:")


def test_a_longer_batch_than_the_presets_positions(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["trace", *SMALL, "--src-len", "700", "--format", "md"]) == 0
    assert "(2, 700, 128)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--heads", "7"], "d_model=512 is not divisible by h=7"),
        (["--size", "huge"], "there is no model size 'huge'"),
        (["--model", "nowhere"], "model 'nowhere' does not exist"),
        (["--model", "nowhere", "--heads", "2"], "--model has its own sizes"),
        (["Hello.", "--batch", "2"], "TEXT is translated by a trained model"),
        ([" "], "the text is blank"),
        (["word " * 900], "positions"),
        (["Hello.\nYou."], "the text has more than one line"),
        (["caf\udce9"], "TEXT, character 4: 0xe9 is not valid UTF-8"),
        (["--target", "Bonjour."], "give TEXT as well"),
        ([*SMALL, "-o", "trace.pdf"], "end its name in .html"),
        ([*SMALL, "-o", "."], "it is a directory"),
        (["--batch", "0"], "greater than or equal to 1"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["trace", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and message in err
