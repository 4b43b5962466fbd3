"""Formulas as MathML, which browsers draw without a script; the TeX source is the label."""

from xml.etree import ElementTree

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata
from sphinx.writers.html5 import HTML5Translator

NAMESPACE = "{http://www.w3.org/1998/Math/MathML}"
LIMITS = {"msub": "munder", "msubsup": "munderover"}  # of a sum or a product in a display


def to_mathml(tex: str, display: str) -> str:
    """One formula; `aligned`, which the converter lacks, is written as its synonym `split`."""
    root = ElementTree.fromstring(convert(tex.replace("{aligned}", "{split}"), display=display))
    root.set("aria-label", tex)
    for element in root.iter():
        name = element.tag.removeprefix(NAMESPACE)
        if display == "block" and name in LIMITS and element[0].text in ("∑", "∏"):
            element.tag = NAMESPACE + LIMITS[name]
    return ElementTree.tostring(root, encoding="unicode").replace("ns0:", "").replace(":ns0", "")


def visit_math(translator: HTML5Translator, node: nodes.math) -> None:
    """A formula in a sentence."""
    translator.body.append(to_mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def visit_math_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """A formula on a line of its own; on a narrow screen it scrolls."""
    drawn = to_mathml(node.astext(), "block")
    translator.body.append(f'<div class="formula" tabindex="0">{drawn}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the renderer under the name `mathml`."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
