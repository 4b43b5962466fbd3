"""The JavaScript modules of the view as one, and its style sheet."""

import re
from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent
# Each after those that it imports; the last is what a page or a notebook calls.
MODULES = (
    "inflate",
    "weights",
    "colours",
    "dom",
    "flow",
    "map",
    "model",
    "readout",
    "controls",
    "attention_view",
)
_IMPORT = re.compile(r'^import (\{.*\}) from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const) (\w+))", re.MULTILINE)


@cache
def script() -> str:
    """One ES module that imports nothing; each part keeps its own names to itself."""
    parts = [_closed(name) for name in MODULES[:-1]]
    return "\n".join(["const modules = {};", *parts, _alone(MODULES[-1])])


def source(module: str) -> str:
    """One module as it is written."""
    return (_HERE / "js" / f"{module}.js").read_text(encoding="utf-8")


@cache
def style() -> str:
    """The style sheet."""
    return (_HERE / "style.css").read_text(encoding="utf-8")


def _closed(name: str) -> str:
    """A function around a module, called at once, that gives what the module exports."""
    exports = ", ".join(_EXPORT.findall(source(name)))
    return f"modules.{name} = (() => {{\n{_alone(name)}\nreturn {{ {exports} }};\n}})();"


def _alone(name: str) -> str:
    """A module whose imports are looked up among the parts before it."""
    return _EXPORT.sub("", _IMPORT.sub(r"const \1 = modules.\2;", source(name)))
