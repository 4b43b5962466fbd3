"""One HTML file with everything in it: it asks the network for nothing."""

import html
import json
from typing import Any

from clearhead.explain.view.bundle import script, style

# Nothing may be fetched from anywhere, and the browser holds us to it.
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
DARK = "#161a1f"
_BY_CHOICE = f"@media (prefers-color-scheme: dark) {{ body {{ background: {DARK}; }} }}\n"
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>
body {{ margin: 0; background: {ground}; }}
{style}</style>
</head>
<body>
<main>
<h1 class="ch-aloud">{title}</h1>
<div id="view">This page needs JavaScript to draw.</div>
</main>
<script type="application/json" id="payload">{payload}</script>
<script type="module">
{script}
const payload = JSON.parse(document.getElementById("payload").textContent);
window.attentionView = mount(document.getElementById("view"), payload);
</script>
</body>
</html>
"""
_FRAME = (
    '<iframe title="{title}" srcdoc="{page}" sandbox="allow-scripts allow-popups" '
    'style="width: 100%; height: {height}px; border: 0"></iframe>'
)


def page(payload: dict[str, Any]) -> str:
    """The file as it is saved."""
    return _PAGE.format(
        policy=POLICY,
        title=html.escape(f"Attention: {payload['title']}"),
        ground=DARK if payload["theme"] == "dark" else "#ffffff",
        style=(_BY_CHOICE if payload["theme"] == "auto" else "") + style(),
        payload=as_json(payload),
        script=script(),
    )


def frame(payload: dict[str, Any], height: int = 740) -> str:
    """The same inside another page, which can neither disturb it nor be disturbed."""
    title = html.escape(f"Attention: {payload['title']}", quote=True)
    return _FRAME.format(title=title, page=html.escape(page(payload), quote=True), height=height)


def as_json(payload: dict[str, Any]) -> str:
    """JSON that cannot end the script element that it stands in, whatever the words are."""
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
