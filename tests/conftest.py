"""Settings of all tests: no network, no window, one thread, the same inputs in CI.

It also marks the slow tests and those that execute a whole document.
"""

import os
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# Test tensors are tiny: a second thread would only wait, and on a busy machine for long.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_DATASETS_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

# A shared machine may stall any example, so there is no deadline. In CI the same inputs are drawn
# on every run, so that a failure there can be repeated anywhere.
settings.register_profile("developer", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "developer")

SLOW = Path(__file__).with_name("slow.txt")
# Parts of the names of the tests that execute a recipe, a lesson, a notebook or a problem set from
# its first line to its last. They are a quarter of the work of all tests, and every feature that
# they use has tests of its own; so `pytest` without arguments leaves them out. `make documents`
# runs them, as CI does.
DOCUMENTS = ("tests/recipes/", "::test_every_cell_runs", "::test_every_solution_passes_its_check")
LOOPBACK = ("127.0.0.1", "::1", "localhost")


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail any connection that would leave this machine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX and address[0] not in LOOPBACK:
            raise AssertionError(f"a test tried to reach {address[0]} over the network")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


def slow_tests() -> list[str]:
    """The lines of slow.txt."""
    lines = SLOW.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def pytest_configure(config: pytest.Config) -> None:
    """Without a path, `-m` or `-k`, leave out the documents; a test that is named always runs."""
    chosen = config.option.markexpr or config.option.keyword
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS and not chosen:
        config.option.markexpr = "not documents"


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark documents and the tests of slow.txt; put the latter first, in the order of its lines."""
    beginnings = slow_tests()

    def line(item: pytest.Item) -> int:
        matching = (n for n, start in enumerate(beginnings) if item.nodeid.startswith(start))
        return next(matching, len(beginnings))

    for item in items:
        if any(part in item.nodeid for part in DOCUMENTS):
            item.add_marker(pytest.mark.documents)
        if line(item) < len(beginnings):
            item.add_marker(pytest.mark.slow)
    items.sort(key=line)
