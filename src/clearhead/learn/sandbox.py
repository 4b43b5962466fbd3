"""What the process that runs an answer may not do: limits, an audit hook, Landlock.

The limits and the hook stop accidents and ordinary mischief on every system. Landlock
(Linux 5.13 and later) and bubblewrap, if installed, make the kernel refuse the same.
"""

import contextlib
import ctypes
import math
import os
import stat
import sys
import sysconfig
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

# Of processor time, which a busy machine does not use up: for one order of weights, and for all.
CPU_SECONDS, MOST_CPU_SECONDS = 5, 60
IDLE_SECONDS = 12.0  # neither running nor waiting for a processor
MEMORY = 1 << 29  # above what PyTorch itself has mapped
WRITTEN = 1 << 20
MOST_OPEN = 64

COURSE = "clearhead.learn"
REFUSED = (
    "os.fork", "os.forkpty", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.startfile",
    "os.kill", "os.killpg", "subprocess.Popen", "pty.spawn", "socket.", "ftplib.", "smtplib.",
    "urllib.", "http.", "webbrowser.", "ctypes.", "gc.", "signal.pthread_kill", "_winapi.",
    # changes of files
    "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.chmod", "os.chown", "os.link",
    "os.symlink", "os.truncate", "os.utime", "shutil.", "os.chflags", "os.setxattr", "os.mknod",
)  # fmt: skip
# Functions that start processes or signal them and that raise no audit event.
UNAUDITED = {
    "os": ("pidfd_open",), "posix": ("pidfd_open",), "_posixsubprocess": ("fork_exec",),
    "signal": ("pidfd_send_signal",), "_signal": ("pidfd_send_signal",),
}  # fmt: skip


class Refused(PermissionError):
    """The answer tried something that no exercise needs."""


def restrict(folder: Path, output: int, hidden: Iterable[Path]) -> None:
    """Restrict this process for good: it may write to the open file `output` only.

    `hidden`: the files that it cannot read besides those of the course.
    """
    os.chdir(folder)
    _close_files(output)
    _limit()
    allow_more_time()
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            _landlock(folder)
    for module, names in UNAUDITED.items():
        for name in names:
            vars(sys.modules.get(module, os)).pop(name, None)
    course = Path(__file__).parent
    files = [os.stat(p) for p in [course, *course.rglob("*"), *hidden] if p.exists()]
    # Device and number of a file are the same however its path is written.
    sys.addaudithook(_hook({(file.st_dev, file.st_ino) for file in files}))


def _close_files(output: int) -> None:
    """Close what the grading process has open: its requests, its reports, another answer."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.closerange(3, output)
    os.closerange(output + 1, os.sysconf("SC_OPEN_MAX") if hasattr(os, "sysconf") else 1024)


def _limit() -> None:
    if sys.platform == "win32":
        return
    import resource

    mapped = 0
    with contextlib.suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0])
        mapped = pages * resource.getpagesize()
    wanted = {
        resource.RLIMIT_CPU: _spent() + MOST_CPU_SECONDS,
        resource.RLIMIT_FSIZE: WRITTEN,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: MOST_OPEN,
        resource.RLIMIT_NPROC: 0,  # of the user: no new process or thread; root is exempt
    }
    if mapped:
        wanted[resource.RLIMIT_AS] = mapped + MEMORY
    for name, value in wanted.items():
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(name, (value, value))


def allow_more_time() -> None:
    """Begin the limit of processor time anew: a slow answer may need it for each order."""
    if sys.platform == "win32":
        return
    import resource

    most = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (min(_spent() + CPU_SECONDS, most), most))


def _spent() -> int:
    return math.ceil(sum(os.times()[:2]))  # seconds; a forked process begins with 0


def _hook(secret: set[tuple[int, int]]) -> Callable[[str, tuple[Any, ...]], None]:
    """Refuse new processes, the network, the grader, and every change of a file.

    What decides is bound here: an answer can replace the names of a module or of builtins.
    """
    refused, hidden, error, writes, is_a, text = REFUSED, COURSE, Refused, _writes, isinstance, str
    look, is_folder, no_file = os.stat, stat.S_ISDIR, OSError

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event.startswith(refused):
            raise error(f"not allowed in an exercise: {event}")
        if event == "import" and (args[0] == hidden or args[0].startswith(hidden + ".")):
            raise error(f"the grader ({hidden}) cannot be imported by an answer")
        if event == "open" and not is_a(args[0], int):  # a number: a file that is open already
            path = text(args[0])
            if writes(args[1], args[2]) and path != os.devnull:
                raise error(f"writing to {path} is not allowed in an exercise")
            try:
                found = look(args[0])
            except no_file:
                return
            # A path may be relative to an open folder.
            if (found.st_dev, found.st_ino) in secret or is_folder(found.st_mode):
                raise error("an answer cannot read the course, its solution, or a folder")

    return hook


def _writes(mode: object, flags: object) -> bool:
    if isinstance(mode, str) and set(mode) & set("wax+"):
        return True
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


# Landlock's rights (linux/landlock.h)
EXECUTE, WRITE_FILE, READ_FILE, READ_DIRECTORY = 1 << 0, 1 << 1, 1 << 2, 1 << 3
READ = READ_FILE | READ_DIRECTORY
MAKE_AND_REMOVE = 0b1_1111_1111_0000
TRUNCATE = 1 << 14


def _landlock(folder: Path) -> None:
    """Let the kernel refuse what is not needed (no privilege is required for that).

    Every write; reads outside Python and the library, so that an answer cannot copy another one;
    programs; on newer kernels TCP, and signals to other processes.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    create, add_rule, restrict_self, no_new_privileges = 444, 445, 446, 38
    version = libc.syscall(create, None, 0, 1)
    writes = WRITE_FILE | MAKE_AND_REMOVE | (TRUNCATE if version >= 3 else 0)
    network, scope = (0b11 if version >= 4 else 0), (0b11 if version >= 6 else 0)
    handled = (ctypes.c_uint64 * 3)(EXECUTE | READ | writes, network, scope)
    ruleset = libc.syscall(create, handled, 24 if scope else 16 if network else 8, 0)
    if ruleset < 0:
        return
    rights = dict.fromkeys([*_readable(), str(folder)], READ) | {os.devnull: READ | WRITE_FILE}
    for path, allowed in rights.items():
        with contextlib.suppress(OSError):  # no such path
            handle = os.open(path, os.O_PATH)
            allowed &= ~0 if os.path.isdir(path) else WRITE_FILE | READ_FILE
            rule = allowed.to_bytes(8, sys.byteorder) + handle.to_bytes(4, sys.byteorder)
            libc.syscall(add_rule, ruleset, 1, ctypes.c_char_p(rule), 0)
            os.close(handle)
    libc.prctl(no_new_privileges, 1, 0, 0, 0)
    libc.syscall(restrict_self, ruleset, 0)
    os.close(ruleset)


def _readable() -> list[str]:
    """Python, its packages, the library, and what the system's own libraries read."""
    library = str(Path(__file__).parents[2])
    system = ["/usr", "/lib", "/lib64", "/etc", "/proc/self", "/proc/cpuinfo", "/sys/devices"]
    return [sys.prefix, sys.base_prefix, *sysconfig.get_paths().values(), library, *system]
