"""The allocator keeps what was freed where it can be told to, and says where it cannot."""

import platform

import pytest

from clearhead.fast import memory
from clearhead.fast.memory import keep_freed_memory


def test_it_can_be_switched_on_and_off_again() -> None:
    possible = platform.libc_ver()[0] == "glibc"
    assert keep_freed_memory() is possible
    assert keep_freed_memory(False) is possible


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory.platform, "libc_ver", lambda: ("", ""))
    assert not keep_freed_memory()
