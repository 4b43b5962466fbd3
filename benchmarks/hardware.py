"""What the figures of a benchmark were measured on, in one line."""

import platform
import re
from pathlib import Path

import torch


def describe() -> str:
    """Processor, its number formats, threads and versions."""
    formats = ", ".join(_abilities()) or "no AVX"
    versions = f"torch {torch.__version__}, Python {platform.python_version()}"
    return f"{_processor()}, {torch.get_num_threads()} threads, {formats}; {versions}"


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        found = re.search(
            r"^model name\s*:\s*(.+)$", info.read_text(encoding="utf-8"), re.MULTILINE
        )
        if found:
            return found[1]
    return platform.processor() or platform.machine()


def _abilities() -> list[str]:
    info = Path("/proc/cpuinfo")
    flags = set(info.read_text(encoding="utf-8").split()) if info.exists() else set()
    known = {"avx2": "AVX2", "avx512f": "AVX-512", "avx512_bf16": "AVX512-BF16", "amx_bf16": "AMX"}
    return [name for flag, name in known.items() if flag in flags]
