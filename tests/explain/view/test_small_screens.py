"""The view on a phone, and in the reader's colour scheme."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clearhead.explain.view import AttentionView
from tests.explain.view.browser import Visit, chromium
from tests.explain.view.test_browser import MAPS


@pytest.fixture
def visit(tmp_path: Path) -> Iterator[Any]:
    path = tmp_path / "auto.html"
    AttentionView(MAPS, "the small dog", theme="auto").save(path)
    with chromium() as browser, Visit(browser, path) as opened:
        yield opened
        assert opened.errors == []


def test_everything_fits_the_width_of_a_phone(visit: Visit) -> None:
    page = visit.page
    page.set_viewport_size({"width": 360, "height": 740})
    for side in ("query", "key"):
        box = page.locator(f"[role=option][data-side={side}]").first.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 360
    page.click("button[name=map]")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.locator(".ch-sheet").bounding_box()["width"] <= 360


def test_the_page_follows_the_readers_colour_scheme(visit: Visit) -> None:
    page, ground = visit.page, "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(247, 247, 245)"
    assert page.locator(".ch-attention").get_attribute("data-theme") == "light"
    page.emulate_media(color_scheme="dark")
    page.reload()
    page.wait_for_selector("[role=option]")
    assert page.locator(".ch-attention").get_attribute("data-theme") == "dark"
    assert page.evaluate(ground) == "rgb(18, 21, 26)"
