"""The machine that a measurement runs on, and the optional packages that are installed there."""

import importlib
import importlib.util
import os
import platform
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from clearhead.decoding.precision import use_threads
from clearhead.errors import UserError

EXTRA = 'pip install "clearhead[compare]"'
KERAS_BACKEND = "torch"
_CPU_INFO = Path("/proc/cpuinfo")
# Instruction sets that decide whether a number format is fast.
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
    """Hardware and versions; `load` is the load average before the measurement (Linux, macOS)."""

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
    """This machine in its present state."""
    cpu_info = _CPU_INFO.read_text(encoding="utf-8") if _CPU_INFO.exists() else ""
    name = re.search(r"^model name\s*:\s*(.+)$", cpu_info, re.MULTILINE)
    flags = set(cpu_info.split())
    return Machine(
        processor=name[1] if name else platform.processor() or platform.machine(),
        cores=os.cpu_count() or 1,
        threads=torch.get_num_threads(),
        abilities=[title for flag, title in _FLAGS.items() if flag in flags],
        accelerator=torch.cuda.get_device_name() if torch.cuda.is_available() else "",
        load=os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0,
        torch=str(torch.__version__),
        python=platform.python_version(),
    )


def prepare_machine(threads: int | None) -> Machine:
    """Set the number of threads (None: all cores) and describe the machine."""
    use_threads(threads)
    return describe_machine()


def is_installed(package: str) -> bool:
    """Whether `library(package)` would find the package."""
    return importlib.util.find_spec(package) is not None


def library(package: str) -> Any:
    """An optional package, imported now; untyped, since it may be absent when types are checked."""
    return importlib.import_module(package)


def skipped(name: str, package: str, install: str = EXTRA) -> str:
    """The remark for a peer whose package is not installed."""
    return f"{name} left out: the package {package} is not installed ({install})"


def select(only: Collection[str], names: Collection[str]) -> list[str]:
    """The peers given by `--only`, in the order of `names`; all of them if none are given.

    Raises:
        UserError: a name in `only` is unknown.
    """
    for name in only:
        if name not in names:
            raise UserError(f"--only {name}: unknown peer; choose from {', '.join(names)}")
    return [name for name in names if not only or name in only]


def load_keras() -> Any:
    """Keras 3 with torch as its backend, so that its layers are torch modules with torch gradients.

    Keras reads the environment variable KERAS_BACKEND once, at its first import.

    Raises:
        UserError: Keras is not installed or was already imported with another backend.
    """
    if not is_installed("keras"):
        raise UserError(f"the comparison with Keras needs the package keras; install it: {EXTRA}")
    os.environ["KERAS_BACKEND"] = KERAS_BACKEND
    keras = library("keras")
    if (other := keras.backend.backend()) != KERAS_BACKEND:
        raise UserError(
            f"Keras already runs on {other} in this process; set KERAS_BACKEND={KERAS_BACKEND} "
            "before the first `import keras`, in a fresh process"
        )
    return keras


@contextmanager
def keras_on(device: str) -> Iterator[Any]:
    """Keras with `device` as its default; without it, Keras moves every tensor to a GPU if any."""
    keras = load_keras()
    with keras.device(device):
        yield keras
