"""The allocator keeps what was freed where it can be told to, and says where it cannot."""

import platform
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


@pytest.mark.skipif(not GLIBC, reason="another C library has an allocator of its own")
def test_gaps_are_given_back_but_not_at_every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_last", -PAUSE)
    monkeypatch.setattr(memory.time, "monotonic", lambda: 0.0)
    keep_freed_memory()
    try:
        # 200 blocks of 1 MB; between two of them something small lives on.
        blocks = [(torch.ones(2**18), torch.ones(2**10)) for _ in range(200)]
        small = [pair[1] for pair in blocks]
        del blocks
        with_gaps = resident()
        assert give_back_gaps()
        assert resident() < with_gaps - 150
        assert not give_back_gaps()
        assert all(bool((x == 1).all()) for x in small)
    finally:
        keep_freed_memory(False)
