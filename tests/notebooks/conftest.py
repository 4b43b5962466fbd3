"""Notebooks need their tools, and are run in small."""

import pytest


@pytest.fixture(autouse=True)
def in_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLEARHEAD_FAST", "1")
