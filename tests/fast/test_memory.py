"""The allocator keeps what was freed where it can be told to, and says where it cannot."""

import ctypes
import math
import platform
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from clearhead.fast import memory
from clearhead.fast.memory import PAUSE, give_back_gaps, keep_freed_memory


def test_it_can_be_switched_on_and_off_again() -> None:
    possible = platform.libc_ver()[0] == "glibc"
    assert keep_freed_memory() is possible
    assert keep_freed_memory(False) is possible


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory.platform, "libc_ver", lambda: ("", ""))
    assert not keep_freed_memory()


GLIBC = platform.libc_ver()[0] == "glibc"


def resident() -> float:
    """Megabytes of this process."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").split("\n")
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Freed memory is kept, nothing has been looked at, and time passes when this is called.

    What earlier tests freed is given back: gaps of theirs would be filled and nothing would grow.
    """
    if GLIBC:
        ctypes.CDLL(None).malloc_trim(0)
    now = 0.0
    monkeypatch.setattr(memory._Watch, "last", now)
    monkeypatch.setattr(memory._Watch, "usual", math.inf)
    monkeypatch.setattr(memory.time, "monotonic", lambda: now)

    def wait() -> None:
        nonlocal now
        now += PAUSE

    keep_freed_memory()
    yield wait
    keep_freed_memory(False)


def gaps() -> list[torch.Tensor]:
    """200 free MB, one by one; between two of them something small lives on."""
    blocks = [(torch.ones(2**18), torch.ones(2**10)) for _ in range(200)]
    return [small for _, small in blocks]


@pytest.mark.skipif(not GLIBC, reason="another C library has an allocator of its own")
def test_gaps_are_given_back_when_they_are_a_quarter_of_all(
    clock: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "GROWTH", 1 + 100 / resident())
    clock()
    assert not give_back_gaps()  # nothing has grown yet
    small = gaps()
    with_gaps = resident()
    assert not give_back_gaps()  # it is not looked at in every round
    clock()
    assert give_back_gaps()
    assert resident() < with_gaps - 150
    assert not give_back_gaps()
    assert all(bool((x == 1).all()) for x in small)


@pytest.mark.skipif(not GLIBC, reason="another C library has an allocator of its own")
def test_what_is_asked_for_again_and_again_is_kept(clock: Callable[[], None]) -> None:
    """Given back at every look, it would have to be cleared by the system as often."""
    for _ in range(20):  # something small that lies where a block lay makes it move, a few times
        torch.ones(2**26)  # 256 MB
        clock()
    for _ in range(5):
        for _ in range(3):
            torch.ones(2**26)
        clock()
        assert not give_back_gaps()


def test_a_system_that_tells_nothing_keeps_its_memory(
    clock: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "_STATM", Path("nowhere"))
    for _ in range(3):
        clock()
        assert not give_back_gaps()
