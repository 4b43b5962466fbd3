"""Paired timing, robust against a machine whose speed varies, and a description of the machine.

In each round every candidate runs once; the order alternates between rounds, so that no candidate
always runs after the same other one. Candidates are compared within a round, while the machine is
in one state, and the result is the median of these ratios.
"""

import importlib
import importlib.util
import os
import platform
import re
import statistics
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch

from clearhead.errors import UserError, counted
from clearhead.training.device_settings import use_threads

Progress = Callable[[str], None]


class Measurement(NamedTuple):
    """The duration of one run and the work that it did (tokens, sentences, FLOP or bytes)."""

    seconds: float
    work: float

    @property
    def rate(self) -> float:
        """Work per second."""
        return self.work / self.seconds


class Summary(NamedTuple):
    """Median and range over the rounds."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Candidate:
    """A named function to be timed; `run` returns the amount of work done."""

    name: str
    run: Callable[[], float]


Measurements = dict[str, list[Measurement]]


def measure(
    candidates: Sequence[Candidate],
    rounds: int,
    warmup: int = 1,
    synchronize: Callable[[], None] = lambda: None,
    progress: Progress = lambda line: None,
    untimed_runs: int = 0,
) -> Measurements:
    """Time every candidate once per round, after `warmup` rounds that do not count.

    `synchronize` waits for asynchronous work, such as that of a GPU. `untimed_runs` runs precede
    each timed one, so that the caches hold the candidate's own data.
    """
    measurements: Measurements = {candidate.name: [] for candidate in candidates}
    for number in range(-warmup, rounds):
        progress(f"round {number + 1} of {rounds}" if number >= 0 else "warming up")
        for candidate in candidates if number % 2 == 0 else reversed(candidates):
            for _ in range(untimed_runs if number >= 0 else 0):
                candidate.run()
            measurement = _time(candidate, synchronize)
            if number >= 0:
                measurements[candidate.name].append(measurement)
    return measurements


def _time(candidate: Candidate, synchronize: Callable[[], None]) -> Measurement:
    synchronize()
    start = time.perf_counter()
    work = candidate.run()
    synchronize()
    return Measurement(time.perf_counter() - start, work)


def ratio(ours: Sequence[Measurement], theirs: Sequence[Measurement]) -> Summary:
    """Our rate divided by theirs, round by round."""
    return summarize([a.rate / b.rate for a, b in zip(ours, theirs, strict=True)])


def summarize(values: Sequence[float]) -> Summary:
    """Median and range of the values."""
    return Summary(statistics.median(values), min(values), max(values))


def median_rate(measurements: Sequence[Measurement]) -> float:
    """Work per second in the median round."""
    return statistics.median(measurement.rate for measurement in measurements)


def fastest(measurements: Mapping[str, Sequence[Measurement]], prefix: str) -> str | None:
    """The candidate with the highest median rate among those whose name has this prefix."""
    rates = {n: median_rate(own) for n, own in measurements.items() if n.startswith(prefix)}
    return max(rates, key=rates.__getitem__, default=None)


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
            f"{self.processor}, {counted(self.cores, 'core')}, {counted(self.threads, 'thread')}, "
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


@contextmanager
def kept_threads() -> Iterator[None]:
    """Afterwards torch uses as many cores as before; some libraries change the number."""
    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)
