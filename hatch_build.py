"""Compiles the native engine into the wheel; without a C compiler the wheel is pure Python."""

import importlib.util
import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class NativeEngineHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the shared library to the wheel, whose name then carries the platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile; a failure is reported and leaves the readable engine."""
        building = self._building()
        building.LIBRARY.unlink(missing_ok=True)
        if reason := building.compile_library():
            print(f"clearhead is installed without its native engine: {reason}", file=sys.stderr)
            return
        build_data["artifacts"].append(f"src/clearhead/native/{building.LIBRARY.name}")
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"  # the library does not use Python's interface

    def _building(self) -> ModuleType:
        """`clearhead.native.building`, without importing a package that is not installed yet."""
        path = Path(self.root) / "src" / "clearhead" / "native" / "building.py"
        spec = importlib.util.spec_from_file_location("building", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
