"""The native library under AddressSanitizer and UndefinedBehaviorSanitizer (`make sanitize`).

    python -m tests.native.sanitizers --calls 1000000

A copy of the package gets a library with the sanitizers; the native tests and the random calls run
with that copy. The first finding ends the run with an error.
"""

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from clearhead.native.building import LIBRARY, compile_library, compiler
from tests.laws.tree import ROOT

FLAGS = [
    "-fsanitize=address,undefined,float-cast-overflow",
    "-fno-sanitize-recover=all",
    "-fno-omit-frame-pointer",
    "-g",
    "-O1",
]

ASAN_OPTIONS = [
    "detect_leaks=0",  # Python itself keeps memory; the random calls count what is allocated
    "allocator_may_return_null=1",  # a request that is too large is refused, not an error
    "max_allocation_size_mb=2048",
]


def runtime() -> Path | None:
    """The sanitizer's library, which must be loaded before Python's; None without one."""
    found = compiler()
    if found is None or sys.platform != "linux":
        return None
    for name in ("libclang_rt.asan-x86_64.so", "libclang_rt.asan-aarch64.so", "libasan.so"):
        command = [*found.split(), f"-print-file-name={name}"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        path = Path(done.stdout.strip())
        if path.is_absolute() and path.exists():
            return path.resolve()
    return None


@contextlib.contextmanager
def sanitized_environment() -> Iterator[dict[str, str]]:
    """The environment of a process that uses the copy.

    Raises:
        RuntimeError: the library does not compile, or there is no sanitizer.
    """
    preloaded = runtime()
    if preloaded is None:
        raise RuntimeError("this compiler has no AddressSanitizer")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "clearhead"
        shutil.copytree(
            ROOT / "src" / "clearhead",
            copy,
            ignore=shutil.ignore_patterns("_native*", "__pycache__"),
        )
        shared = ["-shared-libasan"] if "clang" in preloaded.name else []  # gcc's is, always
        if reason := compile_library(copy / "native" / LIBRARY.name, FLAGS + shared):
            raise RuntimeError(reason)
        yield os.environ | {
            "PYTHONPATH": os.pathsep.join([folder, str(ROOT)]),
            "LD_PRELOAD": str(preloaded),
            "ASAN_OPTIONS": ":".join(ASAN_OPTIONS),
            "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
            "OMP_NUM_THREADS": "1",
        }


def run_random_calls(environment: dict[str, str], calls: int, seed: int) -> str:
    """What the random calls print.

    Raises:
        RuntimeError: a sanitizer or a check found something; the message is its report.
    """
    command = [sys.executable, "-m", "tests.native.random_calls", str(calls), f"--seed={seed}"]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return done.stdout


def run_tests(environment: dict[str, str]) -> None:
    """The native tests, in one process; those that build a wheel are left out."""
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider"]
    command += ["--ignore=tests/native/test_building.py"]
    command += ["--ignore=tests/native/test_random_calls.py", "tests/native"]
    subprocess.run(command, env=environment, cwd=ROOT, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with sanitized_environment() as environment:
        run_tests(environment)
        print(run_random_calls(environment, arguments.calls, arguments.seed), end="")


if __name__ == "__main__":
    main()
