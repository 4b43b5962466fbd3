"""One file that loads nothing, and no token can break out of its JSON."""

import json
import re
from pathlib import Path

import pytest
import torch

from clearhead.errors import UserError
from clearhead.explain.attention import AttentionMap
from clearhead.explain.view import AttentionView
from clearhead.explain.view import page as module
from clearhead.explain.view.page import MODULES, page, script, source
from clearhead.explain.view.payload import MAX_WEIGHTS

NASTY = ["</script><script>alert(1)</script>", '"><b>', "\u2028", "{{x}}"]


def small(words: list[str] | None = None) -> AttentionMap:
    words = words or ["a", "b", "c"]
    weights = torch.rand(1, 2, len(words), len(words)).softmax(-1)
    return AttentionMap.of("cross", [weights] * 3, words, words)


def test_nothing_is_loaded() -> None:
    html = AttentionView([small()]).html
    links = set(re.findall(r"https?://[^\s\"'<>\\]+", html))
    assert all(link.startswith("https://aclanthology.org/") for link in links)
    assert not re.findall(r"\b(?:src|import|fetch|url)\s*[=(]", html)
    assert "default-src 'none'" in html


def test_both_papers_are_linked() -> None:
    html = AttentionView([small()]).html
    assert "Jain and Wallace (2019)" in html
    assert "Wiegreffe and Pinter (2019)" in html


def test_tokens_cannot_break_out_of_the_page() -> None:
    html = AttentionView([small(NASTY)], title=NASTY[0]).html
    assert html.count("<script") == html.count("</script>") == 2
    data = re.search(r'id="payload">(.*?)</script>', html, re.DOTALL)
    assert data
    assert json.loads(data[1])["maps"][0]["keys"] == NASTY


def test_the_frame_of_a_notebook_contains_the_same_page() -> None:
    from html import unescape

    view = AttentionView([small(NASTY)], title=NASTY[1])
    framed = re.fullmatch(
        r'<iframe title="[^"]*" srcdoc="([^"]*)" sandbox=.*</iframe>', view._repr_html_()
    )
    assert framed
    assert unescape(framed[1]) == page(view.payload, linked=False)


def test_a_notebook_with_widgets_gets_a_widget_and_the_frame() -> None:
    pytest.importorskip("anywidget")
    bundle = AttentionView([small()])._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert bundle["text/html"].startswith("<iframe")


def test_without_anywidget_there_is_the_frame_and_a_clear_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "anywidget", None)
    view = AttentionView([small()])
    assert set(view._repr_mimebundle_()) == {"text/html", "text/plain"}
    with pytest.raises(UserError, match=r"pip install 'clearhead\[notebook\]'"):
        _ = view.widget


def test_cross_attention_is_shown_first() -> None:
    other = AttentionMap.of("encoder", [torch.ones(1, 2, 3, 3) / 3], "abc", "abc")
    start = AttentionView([other, small()]).payload["start"]
    assert (start["map"], start["layer"]) == (1, 1)


def test_every_module_of_the_view_is_in_the_page() -> None:
    folder = Path(module.__file__).parent / "js"
    assert {path.stem for path in folder.glob("*.js")} == set(MODULES)
    assert "import " not in re.sub(r"//.*", "", script())
    for name in MODULES:
        imported = re.findall(r'from "\./(\w+)\.js"', source(name))
        assert all(MODULES.index(other) < MODULES.index(name) for other in imported)


def test_no_two_modules_have_the_same_top_level_name() -> None:
    text = script()
    names = re.findall(r"^(?:export )?(?:async )?(?:function|class|const) (\w+)", text, re.M)
    for constants in re.findall(r"^const .*", text, re.M):
        names += re.findall(r", ([A-Z_]+) = ", constants)
    assert len(names) == len(set(names)) > 50


def test_only_html_is_written(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"ends in \.html"):
        AttentionView([small()]).save(tmp_path / "view.png")
    AttentionView([small()]).save(tmp_path / "view.html")
    assert (tmp_path / "view.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_no_map_and_too_many_weights_are_refused() -> None:
    with pytest.raises(UserError, match="no attention to show"):
        AttentionView([])
    words = tuple(map(str, range(1500)))
    import numpy as np

    weights = np.broadcast_to(np.float32(0), (6, 8, 1500, 1500))
    huge = AttentionMap("self", weights, words, words, tuple(range(6)), tuple(range(8)))
    with pytest.raises(UserError, match=f"108,000,000 weights, and a page holds {MAX_WEIGHTS:,}"):
        AttentionView([huge])
