"""A command that trains has tcmalloc, where it is installed; others are started once."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from clearhead.cli.train import TCMALLOC, restart_with_tcmalloc


def installed() -> bool:
    try:
        ctypes.CDLL(TCMALLOC)
    except OSError:
        return False
    return sys.platform == "linux"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[str], str]]:
    """Programs that would replace this process: file, arguments, LD_PRELOAD."""
    programs: list[tuple[str, list[str], str]] = []
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "clearhead", "train", "x"])
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: None)

    def execve(file: str, arguments: list[str], env: dict[str, str]) -> None:
        programs.append((file, arguments, env["LD_PRELOAD"]))

    monkeypatch.setattr(os, "execve", execve)
    return programs


@pytest.mark.parametrize(
    "line",
    ["train first_light", "bio dna train x.csv", "bio cells pretrain x", "bio dna benchmark x"],
)
def test_a_command_that_trains_is_started_again_as_it_was(
    started: list[tuple[str, list[str], str]], line: str
) -> None:
    restart_with_tcmalloc(line.split())
    assert started == [
        (sys.executable, [sys.executable, "-m", "clearhead", "train", "x"], TCMALLOC)
    ]


def test_no_other_command_is_started_again(started: list[tuple[str, list[str], str]]) -> None:
    for line in ("translate train", "", "--version", "evaluate --data train"):
        restart_with_tcmalloc(line.split())
    assert started == []


@pytest.mark.parametrize("value", ["", TCMALLOC, "libjemalloc.so.2"])
def test_who_sets_ld_preload_decides(
    started: list[tuple[str, list[str], str]], value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_PRELOAD", value)
    restart_with_tcmalloc(["train", "first_light"])
    assert started == []


def test_without_tcmalloc_and_elsewhere_nothing_happens(
    started: list[tuple[str, list[str], str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    restart_with_tcmalloc(["train"])
    monkeypatch.setattr(sys, "platform", "linux")

    def missing(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", missing)
    restart_with_tcmalloc(["train"])
    assert started == []


@pytest.mark.skipif(not installed(), reason="tcmalloc is not installed")
@pytest.mark.parametrize("preload", [None, ""])
def test_a_run_says_whether_it_has_tcmalloc(tmp_path: Path, preload: str | None) -> None:
    small = [
        "data.train=grammar:train:80", "data.dev=grammar:dev:4", "vocabulary.size=400",
        "model.size=tiny", "model.d_model=16", "model.d_ff=16", "model.h=4",
        "model.encoder_layers=1", "model.decoder_layers=1",
        "run.steps=2", "run.eval_every=2", "run.save_every=2", "run.average=0",
    ]  # fmt: skip
    options = [word for change in small for word in ("--set", change)]
    command = [sys.executable, "-m", "clearhead", "train", "first_light", *options]
    command += ["--run-dir", str(tmp_path / "run")]
    env = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    if preload is not None:
        env["LD_PRELOAD"] = preload
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("cpu, ")]
    assert line.endswith("1 thread, tcmalloc" if preload is None else "1 thread")
