import sys
from pathlib import Path

import pytest

from benchmarks import time_to_quality
from benchmarks.quality.points import read_points
from clearhead.compare.timing import kept_threads
from tests.benchmarks.quality.test_contest import TINY

SIDES = {"clearhead", "torch.nn.Transformer, Adam 0.001", "torch.nn.Transformer, Adam 0.002"}


def run_main(monkeypatch: pytest.MonkeyPatch, directory: Path, *arguments: str) -> None:
    options = ["--recipe", "first_light", "--threads", "1", "--slice", "1e-9", "--targets", "99"]
    for setting in [*TINY, "run.device=cpu"]:
        options += ["--set", setting]
    monkeypatch.setattr(sys, "argv", ["x.py", str(directory), *options, *arguments])
    with kept_threads():
        time_to_quality.main()


def test_a_tiny_contest_has_points_a_picture_and_ratios(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run_main(monkeypatch, tmp_path, "--minutes", "1e-9")
    assert {point.side for point in read_points(tmp_path / "points.jsonl")} == SIDES
    assert (tmp_path / "bleu.png").read_bytes().startswith(b"\x89PNG")
    assert "| 99 | not reached | not reached |" in capsys.readouterr().out


def test_without_a_rate_clearhead_trains_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run_main(monkeypatch, tmp_path, "--minutes", "1e-9", "--rates")
    assert {point.side for point in read_points(tmp_path / "points.jsonl")} == {"clearhead"}
    assert (tmp_path / "bleu.png").exists() and "| 99 | not reached |" in capsys.readouterr().out


def test_another_setting_in_the_same_directory_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run_main(monkeypatch, tmp_path, "--minutes", "1e-9")
    with pytest.raises(SystemExit, match="other settings \\(warmup\\)") as stopped:
        run_main(monkeypatch, tmp_path, "--minutes", "1e-9", "--warmup", "7")
    assert "\n" not in str(stopped.value)


def test_batches_that_only_one_side_would_accumulate_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(SystemExit, match=r"run\.accumulate"):
        run_main(monkeypatch, tmp_path, "--set", "run.accumulate=2")
    assert not any(tmp_path.iterdir())
