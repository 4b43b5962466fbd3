"""Options far beyond any use end in a result or in one short line, at once."""

from pathlib import Path

import pytest

from clearhead.cli import main
from tests.translation.tiny import save

HUGE = ["1" + "0" * 30, str(2**63), str(2**31)]


@pytest.mark.parametrize("engine", ["native", "readable"])
@pytest.mark.parametrize(
    "option", ["beam-size", "n-best", "batch-tokens", "no-repeat-ngram", "max-length", "threads"]
)
@pytest.mark.parametrize("value", HUGE)
def test_of_translate(
    option: str, value: str, engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(save(tmp_path / "model"))
    arguments = ["translate", "--model", model, "--quiet", "--engine", engine, "Hello."]
    code = main.run([*arguments, f"--{option}", value])
    out, err = capsys.readouterr()
    if option in ("beam-size", "n-best", "threads"):
        assert code == 2 and err.count("\n") == 1 and out == ""
    else:
        assert code == 0 and out.count("\n") == 1


@pytest.mark.parametrize(
    "option", ["d-model", "heads", "d-ff", "layers", "vocab", "batch", "src-len", "tgt-len"]
)
@pytest.mark.parametrize("value", HUGE[:2])
def test_of_trace(option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["trace", "--size", "tiny", f"--{option}", value]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1


@pytest.mark.parametrize("verb", [["train"], ["translate", "--model"], ["data", "get"]])
def test_a_long_name_does_not_fill_the_screen(
    verb: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run([*verb, "x" * 100_000]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and len(err) < 1100


@pytest.mark.parametrize(
    "change",
    [
        *(f"run.{key}={10**30}" for key in ("steps", "seed", "batch_tokens", "threads")),
        "run.threads=100000",
        "run.accumulate=1000000000",
        "vocabulary.copies=1000000000",
        f"vocabulary.size={2**62}",
        "optimizer.betas=[1.0, 1.0]",
        "optimizer.r_drop=1e308",
        'data.train="a\\0b"',
    ],
)
def test_of_a_recipe(change: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_dir = tmp_path / "run"
    assert main.run(["train", "first_light", "--run-dir", str(run_dir), "--set", change]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and change.split("=")[0] in err
    assert not run_dir.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["trace", "--batch", "1000000000", "--src-len", "100000", "--tgt-len", "5"],
        ["trace", "--batch", "1000000000", "--src-len", "16000000", "--tgt-len", "5"],
        ["bench", "training", "--batch", str(10**19)],
        ["bench", "length", "--batch", str(10**19)],
        ["bench", "limits", "--matrix", str(10**10)],
        ["bench", "limits", "--megabytes", str(10**13)],
        ["bench", "decoding", "--lines", str(10**19)],
        ["bench", "epoch", "--lines", str(10**19)],
        ["export", "--to", "ctranslate2", "--output", "out", "--sentences", str(10**18)],
    ],
    ids=" ".join,
)
def test_of_trace_bench_and_export(
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main.run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and not Path("out").exists()
