"""Packages import in one direction; pyproject.toml has the contracts in [tool.importlinter]."""

import subprocess
import sys

from tests.laws.tree import ROOT


def test_imports_keep_every_contract() -> None:
    # In a process of its own: import-linter switches off every logger that exists.
    command = [
        sys.executable,
        "-c",
        "from importlinter.cli import lint_imports_command as lint; lint()",
    ]
    done = subprocess.run(
        [*command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
