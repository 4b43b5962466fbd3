"""Typer's shell completion: verbs, options and choices, without loading what computes."""

import os
import subprocess
import sys

import pytest

from tests.laws.test_no_heavy_import import heavy_modules_after


def completed(words: str, shell: str = "bash") -> str:
    """What the program prints when a shell asks it to complete the last of these words."""
    arguments = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    if shell != "bash":
        arguments = {"_TYPER_COMPLETE_ARGS": words, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    done = subprocess.run(
        [sys.executable, "-m", "clearhead"],
        env={**os.environ, **arguments, "_CLEARHEAD_COMPLETE": f"complete_{shell}"},
        capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert not done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("clearhead tr", {"translate", "train", "trace"}),
        ("clearhead bench le", {"length"}),
        ("clearhead translate --beam", {"--beam-size"}),
        ("clearhead translate --engine n", {"native"}),
    ],
)
def test_verbs_options_and_choices_are_completed(words: str, expected: set[str]) -> None:
    assert set(completed(words).split()) == expected


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_the_help_as_well(shell: str) -> None:
    found = completed("clearhead translate --length-p", shell)
    assert "--length-penalty" in found and "Rank by score" in found


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_the_script_of_each_shell_is_shown(shell: str) -> None:
    # Which shell it runs in, typer learns from the process that started it: here no shell.
    environment = {**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "clearhead", "--show-completion", shell],
        env=environment, capture_output=True, encoding="utf-8", check=True,
    )  # fmt: skip
    assert "_CLEARHEAD_COMPLETE" in done.stdout and "clearhead" in done.stdout


def test_completing_loads_nothing_that_computes() -> None:
    setting = "import os; os.environ.update(_CLEARHEAD_COMPLETE='complete_bash', "
    words = "COMP_WORDS='clearhead tr', COMP_CWORD='1')\n"
    call = "from clearhead.cli.main import run\ntry: run([])\nexcept SystemExit: pass"
    assert heavy_modules_after(f"{setting}{words}{call}") == ["pydantic"]  # typer's own parser
