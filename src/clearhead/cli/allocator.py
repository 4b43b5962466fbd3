"""Training with tcmalloc on Linux, where it is installed.

glibc keeps freed memory in lists that it searches for a piece of the right size. After some hundred
batches of different shapes these lists are long: the search takes a sixth of each step, and the
process holds several times the memory that it needs. tcmalloc has one list for each size. An
allocator must be there before the first allocation, so the process replaces itself once.
"""

import ctypes
import os
import sys

LIBRARY = "libtcmalloc_minimal.so.4"  # Debian and Ubuntu: the package libtcmalloc-minimal4
OF_BIO = {"train", "pretrain", "benchmark"}  # bio dna train, bio cells pretrain …


def restart_with_tcmalloc(arguments: list[str]) -> None:
    """Replace this process by the same command with tcmalloc, if the command trains.

    It does nothing where LD_PRELOAD is set, even to nothing, or where tcmalloc is not installed.
    """
    verb, more = arguments[:1], {*arguments[1:3]}
    trains = verb == ["train"] or (verb == ["bio"] and more & OF_BIO)
    if sys.platform != "linux" or "LD_PRELOAD" in os.environ or not trains:
        return
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        return
    command = [sys.executable, *sys.orig_argv[1:]]
    os.execve(sys.executable, command, {**os.environ, "LD_PRELOAD": LIBRARY})
