"""A tiny run in a temporary directory; no curves are drawn, because drawing takes long."""

from pathlib import Path

import pytest

from clearhead.training import reporter
from clearhead.training.session import Session, start
from tests.training.tiny import tiny_recipe


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporter, "draw_curves", lambda *given: None)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return start(tiny_recipe(tmp_path), tmp_path / "run")
