"""What a notebook shows: a frame, or a widget where anywidget is installed."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clearhead.explain.attention import attention_maps, sentence_pair
from clearhead.explain.view import AttentionView
from clearhead.explain.view.page import script, style
from tests.explain import tiny
from tests.explain.view.browser import chromium

TRANSLATOR = tiny.translator()
MAPS = attention_maps(TRANSLATOR, sentence_pair(TRANSLATOR, tiny.SOURCE, tiny.TARGET))
VIEW = AttentionView(MAPS, "the small dog")
RENDER = """async ([code, payload]) => {
  const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  const module = await import(url);
  const model = { get: (name) => ({ payload })[name] };
  const [one, other] = [document.createElement("div"), document.createElement("div")];
  document.body.append(one, other);
  for (const el of [one, other]) module.default.render({ model, el });
  await new Promise((done) => setTimeout(done, 300));
  return [one, other].map((el) => el.querySelectorAll("[data-side=key]").length);
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as opened:
        yield opened


def test_a_notebook_without_widgets_shows_the_frame(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "output.html"
    path.write_text(f"<!DOCTYPE html><body>{VIEW._repr_html_()}</body>", encoding="utf-8")
    page = browser.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri())
    words = page.frame_locator("iframe").locator("[role=option][data-side=key]")
    words.first.wait_for()
    assert tuple(words.all_inner_texts()) == MAPS[2].keys
    assert errors == []
    page.close()


def test_where_frames_are_left_out_a_sentence_says_how_to_see_the_view() -> None:
    """An untrusted notebook in JupyterLab keeps the text of a tag that it does not allow."""
    left = re.sub(r"<[^>]*>", "", VIEW._repr_html_())
    assert left == "The attention view appears when you run this cell, or trust this notebook."


def test_two_widgets_on_one_page_do_not_disturb_each_other(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "empty.html"
    path.write_text(f"<!DOCTYPE html><style>{style()}</style><body></body>", encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    assert page.evaluate(RENDER, [script(), VIEW.payload]) == [len(MAPS[2].keys)] * 2
    page.close()


def test_the_widget_carries_the_module_the_style_and_the_payload() -> None:
    pytest.importorskip("anywidget")
    widget = VIEW.widget
    assert (str(widget._esm), str(widget._css)) == (script(), style())
    assert widget.payload == VIEW.payload
