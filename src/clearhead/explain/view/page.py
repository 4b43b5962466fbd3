"""The attention view: one HTML file with the scripts, the style sheet and the data; it loads
nothing.
"""

import html
import json
import re
from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from clearhead.errors import UserError
from clearhead.explain.attention import AttentionMap, Prediction
from clearhead.explain.view.payload import Start, Theme, payload
from clearhead.files import atomic_write

_HERE = Path(__file__).parent
# Each module comes after those that it imports; the last is the entry point.
MODULES = (
    "inflate", "weights", "drawing", "flow", "map", "model", "cards", "controls", "attention_view",
)  # fmt: skip
_IMPORT = re.compile(r'^import \{.*\} from "\./\w+\.js";\n', re.MULTILINE)
# Nothing may be loaded from anywhere; the browser enforces it.
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
_SCHEMES = {"light": "light", "dark": "dark", "auto": "light dark"}
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>
body {{ margin: 0; color-scheme: {scheme}; background: light-dark(#f7f7f5, #12151a); }}
{style}</style>
</head>
<body>
<main>
<h1 class="ch-aloud">{title}</h1>
<div id="view">This page needs JavaScript.</div>
</main>
<script type="application/json" id="payload">{payload}</script>
<script type="module">
{script}
const payload = JSON.parse(document.getElementById("payload").textContent);
window.attentionView = mount(document.getElementById("view"), payload, {linked});
</script>
</body>
</html>
"""
# The text inside is for readers that leave out frames, as JupyterLab does in a notebook that is
# not trusted, and GitHub in every notebook.
_FRAME = (
    '<iframe title="{title}" srcdoc="{page}" sandbox="allow-scripts allow-popups" '
    'style="width: 100%; height: 760px; border: 0">The attention view appears when you run this '
    "cell, or trust this notebook.</iframe>"
)


def page(payload: dict[str, Any], linked: bool = True) -> str:
    """The file that is saved; if `linked`, its address holds what is shown."""
    return _PAGE.format(
        policy=POLICY,
        title=html.escape(f"Attention: {payload['title']}"),
        scheme=_SCHEMES[payload["theme"]],
        style=style(),
        linked=json.dumps(linked),
        payload=as_json(payload),
        script=script(),
    )


def frame(payload: dict[str, Any]) -> str:
    """The page inside a frame, isolated from the page around it."""
    title = html.escape(f"Attention: {payload['title']}")
    return _FRAME.format(title=title, page=html.escape(page(payload, linked=False)))


def as_json(payload: dict[str, Any]) -> str:
    """JSON that cannot end the script element around it, whatever the tokens are."""
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@cache
def script() -> str:
    """All modules as one ES module without imports; no two of them have the same top-level name."""
    return "\n".join(_IMPORT.sub("", source(name)) for name in MODULES)


def source(module: str) -> str:
    """The source text of one module."""
    return (_HERE / "js" / f"{module}.js").read_text(encoding="utf-8")


@cache
def style() -> str:
    """The style sheet: the colours of the design, then the view's own rules."""
    sheets = _HERE.parent / "design.css", _HERE / "style.css"
    return "".join(sheet.read_text(encoding="utf-8") for sheet in sheets)


class AttentionView:
    """An interactive view of attention maps: the value of a notebook cell, or an HTML file.

        pair = sentence_pair(translator, "A woman reads a book.")
        AttentionView(attention_maps(translator, pair))

    If anywidget is installed (the extra `notebook`) and the notebook supports widgets, it is a
    widget; otherwise an HTML frame with the same content. `theme` "auto" follows the reader's
    system setting. `predictions` (see `next_tokens`) adds the probabilities of the next token.
    """

    def __init__(
        self,
        maps: Sequence[AttentionMap],
        title: str = "",
        start: Start | None = None,
        theme: Theme = "light",
        predictions: Sequence[Prediction] = (),
    ) -> None:
        self.maps = tuple(maps)
        start = start or _default_start(maps)
        self.payload: dict[str, Any] = payload(maps, title, start, theme, predictions)

    @property
    def html(self) -> str:
        """The HTML page."""
        return page(self.payload)

    def save(self, path: str | Path) -> None:
        """Write the HTML page.

        Raises:
            UserError: the name does not end in .html, or the file cannot be written.
        """
        if Path(path).suffix.lower() not in (".html", ".htm"):
            raise UserError(
                f"cannot write {path}: the view is a page; give a name that ends in .html, "
                "or use clearhead.explain.plots for svg, png and pdf"
            )
        atomic_write(path, self.html)

    @cached_property
    def widget(self) -> Any:
        """The same as an anywidget.

        Raises:
            UserError: anywidget is not installed.
        """
        try:
            import anywidget
            import traitlets
        except ImportError as error:
            raise UserError(
                "a notebook widget needs anywidget, which is not installed; "
                "pip install 'clearhead[notebook]'"
            ) from error

        class AttentionWidget(anywidget.AnyWidget):
            _esm = script()
            _css = style()
            payload = traitlets.Dict().tag(sync=True)

        return AttentionWidget(payload=self.payload)

    def _repr_html_(self) -> str:
        return frame(self.payload)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        bundle: dict[str, Any] = {"text/html": self._repr_html_(), "text/plain": repr(self)}
        try:
            shown = self.widget._repr_mimebundle_()
        except UserError:
            return bundle
        data = shown[0] if isinstance(shown, tuple) else shown or {}
        return {**data, **bundle}

    def __repr__(self) -> str:
        kinds = ", ".join(one.kind for one in self.maps)
        return f"AttentionView({kinds}: {self.payload['title']})"


def _default_start(maps: Sequence[AttentionMap]) -> Start:
    """Cross-attention in the layer that aligns best if there is any, else the first layer."""
    for index, one in enumerate(maps):
        if one.kind == "cross":
            return Start(map=index, layer=one.alignment_layer)
    return Start()
