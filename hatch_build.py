"""Compiles the native engine into the wheel; without a C compiler the wheel is pure Python."""

import importlib.util
import re
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
        # The library does not use Python's interface.
        build_data["tag"] = f"py3-none-{platform_tag(sysconfig.get_platform())}"

    def _building(self) -> ModuleType:
        """`clearhead.native.building`, without importing a package that is not installed yet."""
        path = Path(self.root) / "src" / "clearhead" / "native" / "building.py"
        spec = importlib.util.spec_from_file_location("building", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


def platform_tag(platform: str) -> str:
    """The platform in a wheel's name: from macOS 11 on (Homebrew: macosx-14-arm64) with .0."""
    return re.sub(r"[-.]", "_", re.sub(r"^(macosx-(?!10\.)\d+)[.\d]*", r"\1.0", platform))
