"""Output that cannot be written is one line and exit code 2, in every verb and in every help."""

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors import SafetensorError

from clearhead.cli import main
from clearhead.errors import UserError
from clearhead.export.exporting import new_directory
from tests.laws.cli_options import listing
from tests.translation.tiny import save

FULL = "/dev/full"
VERBS = [
    line.removeprefix("clearhead").strip() for line in listing().splitlines() if "(" not in line
]
pytestmark = pytest.mark.skipif(not Path(FULL).exists(), reason="this system has no /dev/full")
REFUSED = "clearhead: error: cannot write standard output: No space left on device"


@pytest.fixture
def full_output(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[str]], int]:
    """Run a command line whose standard output is a full disk."""

    def run(arguments: list[str]) -> int:
        kept = os.dup(1)
        full = open(FULL, "w", encoding="utf-8")  # noqa: SIM115 - what it holds cannot be flushed
        os.dup2(full.fileno(), 1)
        try:
            with monkeypatch.context() as patch:
                patch.setattr(sys, "stdout", full)
                return main.run(arguments)
        finally:
            os.dup2(os.open(os.devnull, os.O_WRONLY), full.fileno())
            full.close()
            os.dup2(kept, 1)
            os.close(kept)

    return run


@pytest.mark.parametrize("verb", VERBS)
def test_every_help(
    verb: str, full_output: Callable[[list[str]], int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert full_output([*verb.split(), "--help"]) == 2
    err = capsys.readouterr().err
    assert err.startswith(REFUSED) and err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["--version"],
        [],
        ["data", "list"],
        ["train", "first_light", "--show-config"],
        ["trace", "--size", "tiny"],
        ["translate", "--model", "MODEL", "--quiet", "Hello."],
        ["evaluate", "--model", "MODEL", "--data", "grammar:test:2", "--output", "HYP"],
    ],
    ids=" ".join,
)
def test_every_kind_of_output(
    arguments: list[str],
    full_output: Callable[[list[str]], int],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    names = {"MODEL": str(save(tmp_path / "model")), "HYP": str(tmp_path / "hyp")}
    assert full_output([names.get(word, word) for word in arguments]) == 2
    err = capsys.readouterr().err
    assert err.splitlines()[-1].startswith(REFUSED) and "Traceback" not in err


def test_a_process_ends_without_a_word_of_the_interpreter() -> None:
    with open(FULL, "w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "clearhead", "--help"],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith(REFUSED) and done.stderr.count("\n") == 1


def test_a_device_as_output_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(save(tmp_path / "model"))
    assert main.run(["translate", "--model", model, "--quiet", "-o", FULL, "Hello."]) == 2
    assert "No space left on device" in capsys.readouterr().err.splitlines()[-1]


def test_a_full_standard_error_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    full = open(FULL, "w", encoding="utf-8", buffering=1)  # noqa: SIM115 - see full_output
    monkeypatch.setattr(sys, "stderr", full)
    assert main.run(["translate", "--model", "nowhere", "Hello."]) == 2
    os.dup2(os.open(os.devnull, os.O_WRONLY), full.fileno())
    full.close()


def test_memory_that_does_not_suffice_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for error in (MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: you")):

        def fail(arguments: object, error: Exception = error) -> int:
            raise error

        monkeypatch.setattr(main, "_run_verb", fail)
        assert main.run(["translate"]) == 2
        err = capsys.readouterr().err
        assert "there is not enough memory" in err and err.count("\n") == 1


@pytest.mark.parametrize(
    "error",
    [
        OSError(28, os.strerror(28)),
        SafetensorError(
            "Error while serializing: I/O error: No space left on device (os error 28)"
        ),
        Exception("File too large (os error 27)"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_export_to_a_full_disk_is_one_line_and_leaves_nothing(
    error: Exception, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="cannot write") as caught, new_directory(tmp_path / "x"):
        raise error
    assert "\n" not in str(caught.value) and os.listdir(tmp_path) == []


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
from clearhead.cli.main import run
sys.exit(run(sys.argv[2:]))
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="no limit of file sizes here")
@pytest.mark.parametrize("target", ["huggingface", "ctranslate2"])
def test_an_export_beyond_the_limit_of_file_sizes_is_one_line(target: str, tmp_path: Path) -> None:
    pytest.importorskip({"huggingface": "transformers"}.get(target, target))
    model, output = save(tmp_path / "model"), tmp_path / "out"
    arguments = ["export", "--to", target, "--model", str(model), "-o", str(output)]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, "4000", *arguments, "--sentences", "0"],
        stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "cannot write" in done.stderr.splitlines()[-1] and "Traceback" not in done.stderr
    assert not output.exists() and sorted(os.listdir(tmp_path)) == ["model"]
