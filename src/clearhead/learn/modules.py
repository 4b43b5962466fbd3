"""Loading a source text as a module, so that tracebacks and `inspect` show its lines."""

import linecache
import sys
from importlib.abc import InspectLoader
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from types import CodeType, ModuleType


class _TextLoader(InspectLoader):
    def __init__(self, text: str, filename: str) -> None:
        self.text, self.filename = text, filename

    def get_source(self, fullname: str) -> str:
        return self.text

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.text, self.filename)


def load_text(text: str, filename: str) -> ModuleType:
    """Run a source text as a module of its own; what it raises is raised here."""
    loader = _TextLoader(text, filename)
    module = module_from_spec(ModuleSpec("answer", loader, origin=filename))
    module.__file__ = filename
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    before = sys.modules.get("answer")
    sys.modules["answer"] = module  # dataclasses and inspect look it up
    try:
        loader.exec_module(module)
    finally:
        sys.modules.pop("answer")
        if before is not None:
            sys.modules["answer"] = before
    return module
