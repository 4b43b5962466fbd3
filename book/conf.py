"""Sphinx configuration of the course's website; `make book` builds it.

The pages work offline: no script, font or style sheet comes from another host, formulas are
MathML, and the search index lies beside the pages.
"""

import sys
from pathlib import Path

from clearhead import __version__

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "clearhead"
author = "the authors of clearhead"
copyright = author
release = __version__
language = "en"

extensions = ["myst_nb", "mathml"]
exclude_patterns = ["_extensions"]
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # the notebooks hold their outputs: `make lessons`
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # no page has widgets, and these come from a CDN
nb_code_prompt_show = "Show the code of this figure"
nb_code_prompt_hide = "Hide the code of this figure"
html_math_renderer = "mathml"

html_theme = "furo"
html_title = "clearhead"
html_static_path = ["_static"]
html_css_files = ["book.css"]
html_show_copyright = False
html_copy_source = False
html_show_sphinx = False
pygments_style = "github-light-high-contrast"
pygments_dark_style = "github-dark"
_fonts = {
    "font-stack": 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif',
    "font-stack--monospace": 'ui-monospace, "SF Mono", Menlo, Consolas, monospace',
}
html_theme_options = {
    "light_css_variables": {
        **_fonts,
        "color-brand-primary": "#2456c9",
        "color-brand-content": "#2456c9",
        "color-brand-visited": "#2456c9",
        "color-background-primary": "#ffffff",
        "color-background-secondary": "#f7f7f5",
        "color-background-border": "#e2e4e8",
        "color-foreground-primary": "#1a1e24",
        "color-foreground-secondary": "#5a636e",
        "color-foreground-muted": "#5a636e",
    },
    "dark_css_variables": {
        **_fonts,
        "color-brand-primary": "#8db0ff",
        "color-brand-content": "#8db0ff",
        "color-brand-visited": "#8db0ff",
        "color-background-primary": "#12151a",
        "color-background-secondary": "#1a1f26",
        "color-background-border": "#2b323b",
        "color-foreground-primary": "#e7eaee",
        "color-foreground-secondary": "#9aa4b0",
        "color-foreground-muted": "#9aa4b0",
    },
}
