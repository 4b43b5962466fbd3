import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clearhead.cli.main import run
from clearhead.compare.results import as_markdown, read_json
from tests.translation.tiny import save

Run = Callable[..., tuple[int, str, str]]
TINY = ["--size", "tiny", "--vocabulary", "16", "--batch", "3", "--length", "5", "--rounds", "1"]


@pytest.fixture
def bench(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """`clearhead bench ARGUMENTS` in an empty directory -> exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        code = run(["bench", *arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_training_prints_the_same_table_as_its_file(bench: Run) -> None:
    code, out, err = bench("training", *TINY, "--only", "didactic", "--json", "r.json")
    assert code == 0, err
    assert "round 1 of 1" in err and "round" not in out.split("|")[0]
    assert out.startswith("`clearhead bench training`: d_model 128, h 4, d_ff 256, 4 + 4 layers")
    assert "| didactic baseline, float32 |" in out and "| clearhead, float32 |" in out
    assert as_markdown(read_json(Path("r.json"))) == out
    assert bench("show", "r.json") == (0, out, "")


def test_a_corpus_that_is_still_open_as_on_windows_does_not_lose_the_measurements(
    bench: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove = os.unlink

    def unlink(path: Any, **more: Any) -> None:
        if str(path).endswith("tokens.bin"):
            raise PermissionError(13, "it is being used by another process", path)
        remove(path, **more)

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(os, "unlink", unlink)
    code, out, err = bench("training", *TINY, "--only", "didactic")
    assert code == 0 and "| clearhead, float32 |" in out, err


def test_an_epoch_reports_its_sample(bench: Run) -> None:
    arguments = ["--data", "grammar:train:30", "--size", "tiny", "--rounds", "1", "--seconds", "0"]
    code, out, err = bench("epoch", *arguments, "--batch-tokens", "64", "--lines", "20")
    assert code == 0, err
    assert "### An epoch of 20 pairs" in out and "- sample: 0 s per trainer and round" in out


def test_decoding_benchmarks_the_given_model(bench: Run, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    save(tmp_path / "model")
    arguments = ["--model", "model", "--data", "grammar:test:9", "--rounds", "1", "--lines", "8"]
    code, out, err = bench(
        "decoding", *arguments, "--only", "ctranslate2", "--batch", "3", "--beam-size", "1",
        "--kernels", "portable",
    )  # fmt: skip
    assert code == 0, err
    assert "### Decoding, batch 3, greedy, " in out
    assert "| ctranslate2, float32 |" in out and "| clearhead, float32 |" in out
    assert "100.0 % the same" in out


def test_length_reports_and_plots_the_cost_of_a_token(bench: Run) -> None:
    arguments = ["--size", "tiny", "--vocabulary", "16", "--batch", "2", "--longest", "32"]
    code, out, err = bench("length", *arguments, "--rounds", "1", "--plot", "cost.svg")
    assert code == 0, err
    assert "- a token of a translation of 4 costs" in out and Path("cost.svg").stat().st_size > 1000


def test_a_plot_that_cannot_be_written_does_not_lose_the_measurements(bench: Run) -> None:
    Path("file").touch()
    arguments = ["--size", "tiny", "--vocabulary", "16", "--batch", "2", "--longest", "32"]
    code, out, err = bench(
        "length", *arguments, "--rounds", "1", "--plot", "file/cost.svg", "--json", "r.json"
    )
    assert code == 2 and "cannot write" in err
    assert (
        "- a token of a translation of 4 costs" in out
        and as_markdown(read_json(Path("r.json"))) == out
    )
    Path("cost.svg").mkdir()
    code, out, err = bench("length", *arguments, "--rounds", "1", "--plot", "cost.svg")
    assert (code, out, err.count("\n")) == (2, "", 1) and "it is a directory" in err


def test_limits_show_the_share_of_the_peak(bench: Run, tmp_path: Path) -> None:
    save(tmp_path / "model")
    code, out, err = bench(
        "limits", *TINY, "--matrix", "32", "--megabytes", "1", "--model", "model"
    )
    assert code == 0, err
    assert "| training step of clearhead, float32 against product, float32 |" in out
    assert "| decoding, clearhead, float32 against copy |" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["training", *TINY, "--only", "keras"], "--only keras: unknown peer"),
        (["training", "--size", "huge"], "--size huge is unknown"),
        (["training", "--device", "abacus"], "device 'abacus' is unknown"),
        (["training", "--rounds", "0"], "--rounds"),
        (["epoch", "--data", "nowhere.tsv"], "nowhere.tsv does not exist"),
        (["decoding", "--model", "nowhere"], "model 'nowhere' does not exist"),
        (["decoding", "--data", "nowhere.tsv"], "nowhere.tsv does not exist"),
        (["decoding", "--lines", "1", "--kernels", "MMX"], "there are no kernels 'MMX'"),
        (["length", "--plot", "cost.doc"], "use one of .svg, .png, .pdf"),
        (["training", "--json", "-"], "--json -: this command writes a file"),
        (["show", "nowhere.json"], "cannot read nowhere.json"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    arguments: list[str], message: str, bench: Run
) -> None:
    code, out, err = bench(*arguments)
    assert (code, out) == (2, "")
    complaint = [line for line in err.splitlines() if line.startswith("clearhead: error: ")]
    assert len(complaint) == 1 and message in complaint[0]
    assert err.splitlines()[-1] == complaint[0]


def test_json_of_a_benchmark_is_no_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["bench", "length", "--json", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and "it is a directory" in err and err.count("\n") == 1
