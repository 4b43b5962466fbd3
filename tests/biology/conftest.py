"""No curves are drawn, because drawing takes longer than a tiny run; training has tests of them."""

import pytest

from clearhead.training import reporter


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporter, "draw_curves", lambda *given: None)
