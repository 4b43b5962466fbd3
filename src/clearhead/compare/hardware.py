"""What the figures of a benchmark were measured on."""

import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path

import torch

_CPU_INFO = Path("/proc/cpuinfo")
# What a processor must be able to do for a number format to be fast, in words.
_FLAGS = {
    "avx2": "AVX2",
    "avx512f": "AVX-512",
    "avx512_vnni": "AVX512-VNNI (int8)",
    "avx512_bf16": "AVX512-BF16",
    "amx_bf16": "AMX-BF16",
    "amx_int8": "AMX-INT8",
}


@dataclass(frozen=True)
class Machine:
    """One machine in one state; `load` is the work of others as we began (Linux, macOS)."""

    processor: str
    cores: int
    threads: int
    abilities: list[str]
    accelerator: str
    load: float
    torch: str
    python: str

    def __str__(self) -> str:
        accelerator = f", {self.accelerator}" if self.accelerator else ""
        return (
            f"{self.processor}, {self.cores} cores, {self.threads} threads, "
            f"{', '.join(self.abilities) or 'no AVX'}{accelerator}; "
            f"torch {self.torch}, Python {self.python}; load {self.load:.1f} at the start"
        )


def describe_machine() -> Machine:
    """This machine, now."""
    return Machine(
        processor=_processor(),
        cores=os.cpu_count() or 1,
        threads=torch.get_num_threads(),
        abilities=_abilities(),
        accelerator=torch.cuda.get_device_name() if torch.cuda.is_available() else "",
        load=os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0,
        torch=str(torch.__version__),
        python=platform.python_version(),
    )


def describe() -> str:
    """Processor, its number formats, threads and versions, in one line."""
    return str(describe_machine())


def _processor() -> str:
    if _CPU_INFO.exists():
        text = _CPU_INFO.read_text(encoding="utf-8")
        if found := re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE):
            return found[1]
    return platform.processor() or platform.machine()


def _abilities() -> list[str]:
    text = _CPU_INFO.read_text(encoding="utf-8") if _CPU_INFO.exists() else ""
    flags = set(text.split())
    return [name for flag, name in _FLAGS.items() if flag in flags]
