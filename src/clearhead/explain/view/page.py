"""One HTML file with the JavaScript modules, the style sheet and the data; it loads nothing."""

import html
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
# Each module comes after those that it imports; the last is the entry point.
MODULES = (
    "inflate", "weights", "drawing", "flow", "map", "model", "cards", "controls", "attention_view",
)  # fmt: skip
_IMPORT = re.compile(r'^import (\{.*\}) from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
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
_FRAME = (
    '<iframe title="{title}" srcdoc="{page}" sandbox="allow-scripts allow-popups" '
    'style="width: 100%; height: {height}px; border: 0"></iframe>'
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


def frame(payload: dict[str, Any], height: int = 760) -> str:
    """The page inside a frame, isolated from the page around it."""
    title = html.escape(f"Attention: {payload['title']}", quote=True)
    return _FRAME.format(
        title=title, page=html.escape(page(payload, linked=False), quote=True), height=height
    )


def as_json(payload: dict[str, Any]) -> str:
    """JSON that cannot end the script element around it, whatever the tokens are."""
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@cache
def script() -> str:
    """All modules as one ES module without imports; each keeps its own namespace."""
    parts = [_as_function(name) for name in MODULES[:-1]]
    return "\n".join(["const modules = {};", *parts, _without_imports(MODULES[-1])])


def source(module: str) -> str:
    """The source text of one module."""
    return (_HERE / "js" / f"{module}.js").read_text(encoding="utf-8")


@cache
def style() -> str:
    """The style sheet: the colours of the design, then the view's own rules."""
    sheets = _HERE.parent / "design.css", _HERE / "style.css"
    return "".join(sheet.read_text(encoding="utf-8") for sheet in sheets)


def _as_function(name: str) -> str:
    """A module wrapped in a function that returns its exports."""
    exports = ", ".join(_EXPORT.findall(source(name)))
    body = _without_imports(name)
    return f"modules.{name} = (() => {{\n{body}\nreturn {{ {exports} }};\n}})();"


def _without_imports(name: str) -> str:
    """A module with its imports replaced by look-ups among the modules before it."""
    return _EXPORT.sub("", _IMPORT.sub(r"const \1 = modules.\2;", source(name)))
