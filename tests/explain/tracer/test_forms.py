"""A trace as table, page, Markdown and JSON: complete, self-contained, and consistent."""

import html
import io
import json
import re
from html.parser import HTMLParser

import pytest
import torch
from rich.console import Console
from torch import Tensor, nn

from clearhead.explain import Trace, trace
from clearhead.explain.tracer.rows import Row, lines, summary
from clearhead.explain.tracer.text import draw
from clearhead.models import Transformer, TransformerConfig
from tests.explain.tracer import broken
from tests.explain.tracer.test_tracing import batch, model
from tests.explain.view.browser import chromium

VOID = {"meta", "br", "link", "img", "input"}


@pytest.fixture(scope="module")
def found() -> Trace:
    return trace(model().eval(), *batch())


@pytest.fixture(scope="module")
def mistaken() -> Trace:
    x = torch.randn(broken.BATCH, broken.TGT, broken.D_MODEL)
    return trace(broken.KeyNotTransposed(), x, x, x)


class Balanced(HTMLParser):
    """Fails on a tag that closes nothing, and collects what a page would load."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []
        self.details = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.details += tag == "details"
        loaded = [value or "" for name, value in attrs if name in ("src", "data", "srcset")]
        self.loads += loaded + [v or "" for n, v in attrs if tag == "link" and n == "href"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> at {self.getpos()}"


def test_the_page_is_well_formed_and_loads_nothing(found: Trace, mistaken: Trace) -> None:
    for page in (found.to_html(), mistaken.to_html(), found._repr_html_(), mistaken._repr_html_()):
        parsed = Balanced(page)
        assert not parsed.open and not parsed.loads
        assert "http" not in page and "url(" not in page and "@import" not in page


def test_a_notebook_gets_no_script(found: Trace) -> None:
    assert "<script" not in found._repr_html_() and "onclick" not in found._repr_html_()


def test_blocks_collapse_and_equal_layers_are_shown_once(found: Trace) -> None:
    page = found.to_html()
    assert "layers.0 … 1 · 2 × EncoderBlock, each" in page
    assert "layers.0 … 2 · 3 × DecoderBlock, each" in page
    assert Balanced(page).details > 50
    assert page.count(" open>") == 1, "only the outermost block is open"


class ThreeNames(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.toqueries, self.tokeys, self.tovalues = (nn.Linear(6, 6) for _ in range(3))
        self.layers = nn.ModuleList(nn.Linear(6, 6) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        queries, keys, values = self.toqueries(x), self.tokeys(x), self.tovalues(x)
        x = queries + keys + values
        for layer in reversed(self.layers):
            x = layer(x)
        return x


def test_only_modules_with_consecutive_numbers_are_shown_as_one() -> None:
    titles = [line.title for line in lines(trace(ThreeNames(), torch.randn(2, 5, 6)).root)]
    shown = [title.partition(":")[0] for title in titles if "linear map" in title]
    assert shown == ["toqueries", "tokeys", "tovalues", "layers.2", "layers.1", "layers.0"]


def test_what_a_user_wrote_cannot_break_the_page() -> None:
    page = trace(lambda x: x.sub(1) if x.dim() < 3 else x, torch.randn(2, 3)).to_html("a <b> & c")
    assert "<b> &" not in page and "a &lt;b&gt; &amp; c" in page
    assert "&lt;lambda&gt;" in page


def test_no_form_for_others_names_a_local_file(found: Trace) -> None:
    assert "attention.py:" in found.to_html() and "attention.py:" in found.to_markdown()
    for shown in (found.to_html(), found.to_markdown(), found._repr_html_()):
        assert "file:" not in shown and "/clearhead/" not in shown


def test_json_contains_everything_nested(found: Trace) -> None:
    content = json.loads(found.to_json())
    assert content["format_version"] == 1 and content["mistake"] is None

    def leaves(row: dict) -> list[dict]:
        inner = [leaf for child in row["children"] for leaf in leaves(child)]
        return inner or [row]

    rows = leaves(content["root"])
    assert [row["what"] for row in rows] == [row.what for row in found.rows()]
    softmax = next(row for row in rows if row["operation"] == "softmax")
    assert softmax["outputs"] == [
        {"axes": ["batch", "h", "src_len", "src_len"], "shape": [2, 3, 7, 7]}
    ]
    assert softmax["file"].endswith("attention.py")
    assert softmax["code"].startswith("scores.softmax(dim=-1")


def test_markdown_rows_have_as_many_cells_as_the_header(found: Trace) -> None:
    table = [line for line in found.to_markdown().splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in table} == {8}
    assert len(table) > 60


def test_the_table_shows_names_and_sizes_within_its_width(found: Trace) -> None:
    text = str(found)
    assert "(batch, h, tgt_len, src_len)" in text and "(2, 3, 5, 7)" in text
    assert "broadcast: batch: 1 → 2" in text and "attention.py:" in text
    assert max(map(len, text.splitlines())) <= 190


def test_every_form_contains_the_explanation(mistaken: Trace) -> None:
    for shown in (str(mistaken), mistaken.to_markdown(), mistaken.to_html()):
        assert "key.transpose(-2, -1)" in shown and "seq_len" in shown
    content = json.loads(mistaken.to_json())["mistake"]
    assert content["axes"] == ["d_k", "seq_len"] and content["sizes"] == [4, 5]
    assert mistaken.to_html().count('mismatch">') == 2


def test_tracing_base_takes_less_than_two_seconds() -> None:
    import time

    from clearhead.explain.tracer.examples import trace_sizes
    from clearhead.models import TransformerConfig

    def seconds() -> float:
        start = time.process_time()
        trace_sizes(TransformerConfig.preset("base", 37_000), 2, 10, 7).to_html()
        return time.process_time() - start

    assert min(seconds() for _ in range(2)) <= 2.0


@pytest.mark.parametrize(
    ("width", "left_out"),
    [(60, "inputs, params, FLOPs, bytes, source"), (120, "bytes, source"), (300, "")],
)
def test_columns_without_room_are_named_with_a_way_to_see_them(
    found: Trace, width: int, left_out: str
) -> None:
    console = Console(file=io.StringIO(), width=width, color_system=None, force_jupyter=False)
    draw(console, found.root)
    text = " ".join(console.file.getvalue().split())  # type: ignore[attr-defined]
    hint = f"Left out: {left_out}. To see them: a wider terminal, or -o trace.html."
    assert text.endswith(hint) if left_out else "Left out" not in text


@pytest.mark.parametrize(
    ("size", "shown"), [(0, "0 B"), (950, "950 B"), (63_100, "63.1 kB"), (2_000_000, "2 MB")]
)
def test_the_size_of_the_results_has_a_space_before_its_unit(size: int, shown: str) -> None:
    assert summary(Row("", "M", "", "", None, [], [], bytes=size)).endswith(f"; {shown} of results")


@pytest.mark.parametrize("width", [80, 100, 140])
def test_a_narrow_terminal_shows_fewer_columns_and_breaks_no_word(found: Trace, width: int) -> None:
    console = Console(file=io.StringIO(), width=width, color_system=None, force_jupyter=False)
    draw(console, found.root)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert max(map(len, text.splitlines())) <= width
    words = {word for line in lines(found.root) for word in line.title.split()}
    words |= {word for row in found.rows() for word in row.output.split()}
    assert words <= set(text.split())


def test_every_operation_that_computes_has_a_formula(found: Trace) -> None:
    formulas = {row.operation: row.formula for row in found.rows() if row.flops}
    assert all(formulas.values()), [name for name, formula in formulas.items() if not formula]
    assert formulas["softmax"].startswith("y[src_len] = exp(x[src_len]) / Σ_src_len")
    assert all(html.escape(formula) in found.to_html() for formula in formulas.values())


def test_a_tied_matrix_is_counted_once_and_named_where_it_is_used_again() -> None:
    sizes = {"d_model": 12, "encoder_layers": 1, "decoder_layers": 1, "h": 3, "d_ff": 17}
    config = TransformerConfig(31, 31, 16, 16, **sizes, tie_embeddings=True)  # type: ignore[arg-type]
    tied = trace(Transformer.from_config(config).eval(), *batch())
    rows = [row for _, row in tied.root.walk() if row.tied]
    assert [row.parameters for row in rows] == [0, 31], "target embedding; projection: its bias"
    assert {row.tied for row in rows} == {"src_embed.embedding.weight"}
    assert sum(row.parameters for row in tied.root.children) == tied.root.parameters
    assert ">tied<" in tied.to_html() and "31 + tied" in str(tied)


def test_in_a_notebook_a_trace_has_the_theme_of_the_page(mistaken: Trace) -> None:
    scheme = "getComputedStyle(document.querySelector('.ch-trace')).colorScheme"
    with chromium() as browser:
        page = browser.new_page(color_scheme="dark")
        for place, expected in (('data-jp-theme-light="true"', "light"), ("", "light dark")):
            page.set_content(f"<body {place}>{mistaken._repr_html_()}</body>")
            assert page.evaluate(scheme) == expected
