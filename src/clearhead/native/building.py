"""Compiles the C files into one shared library; the package's build hook calls it."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

SOURCES = Path(__file__).parent / "c"
SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
LIBRARY = Path(__file__).parent / f"_native{SUFFIX}"
# Products and sums stay apart (no contraction), so that int8 results are the same on every kernel.
FLAGS = (
    "-std=gnu11",
    "-O3",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fvisibility=hidden",
    "-Wno-psabi",
)


def compiler() -> str | None:
    """The system's C compiler: $CC, cc, gcc or clang; None without one."""
    for name in (os.environ.get("CC"), "cc", "gcc", "clang"):
        if name and shutil.which(name.split()[0]):
            return name
    return None


def compile_library(target: Path = LIBRARY, extra: Sequence[str] = ()) -> str:
    """Write the library to `target`; returns "" or, where that failed, the reason."""
    found = compiler()
    if found is None:
        return "no C compiler (cc, gcc or clang) is on PATH"
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        result = Path(folder) / target.name
        command = [*found.split(), *FLAGS, *_platform_flags(found), *extra, "-shared"]
        command += ["-o", str(result), *map(str, sorted(SOURCES.glob("*.c"))), "-lm"]
        # A compiler may write its messages in another encoding than Python expects.
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        if done.returncode:
            first = done.stderr.strip().splitlines()[:1]
            return f"{found} failed: {' '.join(first) or done.returncode}"
        result.replace(target)
    return ""


def _platform_flags(found: str) -> list[str]:
    if sys.platform == "darwin":  # a wheel may be built for another processor than the machine's
        return ["-fPIC", *os.environ.get("ARCHFLAGS", "").split()]
    if sys.platform != "win32":
        return ["-fPIC"]
    # GCC stores vectors of 32 bytes at stack addresses that Windows aligns to 16 bytes only.
    return [] if "clang" in found else ["-static-libgcc", "-Wa,-muse-unaligned-vector-move"]
