"""Rooms import one way; the contracts stand in pyproject.toml under [tool.importlinter]."""

import pytest
from importlinter.cli import lint_imports

from tests.laws.tree import ROOT


def test_imports_keep_every_contract(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    broken = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    assert not broken, capsys.readouterr().out
