"""What the process that runs an answer may not do: limits, an audit hook, Landlock.

The limits and the hook stop accidents and ordinary mischief on every system. Landlock
(Linux 5.13 and later) and bubblewrap, if installed, make the kernel refuse the same.
"""

import contextlib
import ctypes
import os
import sys
from pathlib import Path

CPU_SECONDS = 5
WALL_SECONDS = 20.0
MEMORY = 1 << 29  # above what PyTorch itself has mapped
WRITTEN = 1 << 20

REFUSED = (
    "os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.startfile",
    "os.kill", "os.killpg", "subprocess.Popen", "pty.spawn", "socket.", "ftplib.", "smtplib.",
    "urllib.", "http.", "webbrowser.", "ctypes.dlopen", "signal.pthread_kill", "_winapi.",
)  # fmt: skip
CHANGES = (
    "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.chmod", "os.chown", "os.link",
    "os.symlink", "os.truncate", "os.utime", "shutil.", "os.chflags", "os.setxattr", "os.mknod",
)  # fmt: skip


class Refused(PermissionError):
    """The answer tried something that no exercise needs."""


def restrict(folder: Path) -> None:
    """Restrict this process for good; it may write in `folder` only."""
    os.chdir(folder)
    _limit()
    with contextlib.suppress(OSError, AttributeError):
        _landlock(folder)
    _audit(str(folder.resolve()))


def _limit() -> None:
    if sys.platform == "win32":
        return
    import resource

    mapped = 0
    with contextlib.suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0])
        mapped = pages * resource.getpagesize()
    spent = sum(os.times()[:2])  # of the process that was forked
    wanted = {
        resource.RLIMIT_CPU: int(spent) + CPU_SECONDS,
        resource.RLIMIT_FSIZE: WRITTEN,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: 64,
    }
    if mapped:
        wanted[resource.RLIMIT_AS] = mapped + MEMORY
    for name, value in wanted.items():
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(name, (value, value))


def _audit(folder: str) -> None:
    """Refuse new processes, the network, and changes of files outside the folder."""

    def hook(event: str, args: tuple[object, ...]) -> None:
        if event.startswith(REFUSED):
            raise Refused(f"not allowed in an exercise: {event}")
        if event == "open":
            path, mode, flags = args
            if _writes(mode, flags) and not _inside(path, folder):
                raise Refused(f"writing to {path} is not allowed in an exercise")
        elif event.startswith(CHANGES) and args and not _inside(args[0], folder):
            raise Refused(f"changing {args[0]} is not allowed in an exercise")

    sys.addaudithook(hook)


def _writes(mode: object, flags: object) -> bool:
    if isinstance(mode, str) and set(mode) & set("wax+"):
        return True
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


def _inside(path: object, folder: str) -> bool:
    if isinstance(path, int):  # an open file, opened under this rule
        return True
    name = os.fsdecode(path) if isinstance(path, str | bytes) else str(path)
    return name == os.devnull or os.path.realpath(name).startswith(folder + os.sep)


def _landlock(folder: Path) -> None:
    """Let the kernel refuse every write outside the folder (no privilege needed)."""
    libc = ctypes.CDLL(None, use_errno=True)
    create, add_rule, restrict_self, no_new_privileges = 444, 445, 446, 38
    # write_file, remove_dir, remove_file, make_* (char, dir, reg, sock, fifo, block, sym)
    writes = 0b1_1111_1111_0010
    if libc.syscall(create, None, 0, 1) >= 3:  # the version of the kernel's interface
        writes |= 1 << 14  # truncate
    handled = ctypes.c_uint64(writes)
    ruleset = libc.syscall(create, ctypes.byref(handled), 8, 0)
    if ruleset < 0:
        return
    for path in (str(folder), os.devnull):
        handle = os.open(path, os.O_PATH)
        allowed = writes if path != os.devnull else 0b10
        rule = allowed.to_bytes(8, sys.byteorder) + handle.to_bytes(4, sys.byteorder)
        libc.syscall(add_rule, ruleset, 1, ctypes.c_char_p(rule), 0)
        os.close(handle)
    libc.prctl(no_new_privileges, 1, 0, 0, 0)
    libc.syscall(restrict_self, ruleset, 0)
    os.close(ruleset)
