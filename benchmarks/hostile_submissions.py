"""Grade a class of submissions of which every fifth is hostile, and check that nothing happens.

    python benchmarks/hostile_submissions.py --count 1000 --jobs 1

Writes the submissions into a new folder, always the same ones: right and wrong answers to every
exercise, and in each hundred five endless loops, five memory bombs and ten of the other attacks
below. Then runs `clearhead learn grade` and checks that every submission has a row with a report,
that right answers and no others passed, and that a folder of the teacher's is unchanged.
"""

import argparse
import csv
import hashlib
import itertools
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clearhead.learn.manifest import CODING, Exercise, course, subject
from clearhead.learn.texts import solution, starting_text, variant_text

LOOPS = (
    "while True:\n    pass",
    "import itertools\nfor _ in itertools.count():\n    pass",
    "import time\nwhile True:\n    time.sleep(1)",
    "def f(n):\n    return f(n - 1) if n else 0\nwhile True:\n    f(500)",
    "import torch\nwhile True:\n    torch.ones(100, 100) @ torch.ones(100, 100)",
)
BOMBS = (
    "x = [bytearray(10**8) for _ in range(1000)]",
    "x = 'x' * 10**11",
    "import torch\nx = torch.ones(10**11)",
    "x = 10 ** 10 ** 10",
    "x = []\nwhile True:\n    x.append(x[:] + [0] * 10**6)",
)
REPORT = (
    '{"exercise": "scale", "checks": [{"name": "all", "passed": true, "message": ""}], '
    '"mistakes": [], "error": "", "line": 0, "printed": "", "matrices": []}'
)
# Attacks by name; TEACHER stands for the folder that must not change.
ATTACKS = {
    "exit": "import sys\nsys.exit(0)",
    "exit at once": "import os\nos._exit(0)",
    "fork bomb": "import os\nwhile True:\n    os.fork()",
    "unaudited fork": (
        "import _posixsubprocess as p, os\nr, w = os.pipe()\np.fork_exec([b'sh', b'-c', "
        "b'rm -rf TEACHER'], [b'/bin/sh'], True, (), None, None, -1, -1, -1, -1, -1, -1, r, w, "
        "False, True, -1, None, None, None, -1, None, False)"
    ),
    "threads": (
        "import threading, time\nwhile True:\n"
        "    threading.Thread(target=time.sleep, args=(99,)).start()"
    ),
    "delete": "import shutil\nshutil.rmtree('TEACHER')",
    "delete one": "import os\nos.remove('TEACHER/points.csv')",
    "overwrite": "open('TEACHER/points.csv', 'w').write('me,100')",
    "hook replaced": (
        "import clearhead.learn.sandbox as s\ns.REFUSED = s.CHANGES = ()\n"
        "s._writes = lambda *a: False\nopen('TEACHER/points.csv', 'w')"
    ),
    "builtins replaced": (
        "import builtins\nbuiltins.isinstance = lambda *a: True\nopen('TEACHER/points.csv', 'w')"
    ),
    "link": "import os\nos.symlink('TEACHER/points.csv', 'printed')\nopen('printed', 'w')",
    "shared memory": (
        "from multiprocessing import shared_memory\n"
        "shared_memory.SharedMemory('me', create=True, size=10**9)"
    ),
    "gigabytes printed": "while True:\n    print('x' * 10**6)",
    "gigabytes written": (
        "for i in range(1000):\n    with open(f'f{i}', 'wb') as f:\n        f.write(b'x' * 10**6)"
    ),
    "kill the parent": "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)",
    "unaudited kill": "import os, signal\nsignal.pidfd_send_signal(os.pidfd_open(os.getppid()), 9)",
    "other answers": (
        "import pathlib\nfor p in pathlib.Path('SUBMISSIONS').rglob('*.py'):\n"
        "    exec(p.read_text())"
    ),
    "passed on stdout": f"import os\nprint({REPORT!r}, flush=True)\nos._exit(0)",
    "passed on every file": (
        f"import os\nfor n in range(64):\n    try:\n        os.write(n, {(REPORT + chr(10))!r}"
        ".encode())\n    except OSError:\n        pass\nos._exit(0)"
    ),
    "result without values": (
        "import os\nfor n in range(3, 64):\n    try:\n"
        '        os.write(n, b\'{"orders": [[{}, {}, {}]], "adapted": []}\')\n'
        "    except OSError:\n        pass\nos._exit(0)"
    ),
    "grader replaced": (
        "import clearhead.learn.run as r\nr.Run.get = lambda self, name: self.reference[name]"
    ),
    "solution": "from clearhead.learn.texts import solution\nexec(solution('attention'))",
    "torch replaced": (
        "import torch\ntorch.allclose = torch.equal = torch.Tensor.all = lambda *a, **k: True\n"
        "def attention(q, k, v, m, d):\n    return v[:, :, :1].expand_as(q), q @ k.mT"
    ),
    "class of the library": "from clearhead.blocks import MultiHeadAttentionBlock as attention",
    "function of the library": (
        "from clearhead.blocks import MultiHeadAttentionBlock as M\nattention = M.attention"
    ),
    "frames": (
        "import sys\ndef attention(*a):\n    f = sys._getframe()\n    while 'run' not in "
        "f.f_locals:\n        f = f.f_back\n    return f.f_locals['run'].reference['attention'](*a)"
    ),
    "network": "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:9')",
    "nested": "x = " + "(" * 10_000 + ")" * 10_000,
    "deep recursion": "import sys\nsys.setrecursionlimit(10**9)\ndef f():\n    f()\nf()",
    "empty": "",
}
BYTES = {
    "binary": bytes(range(256)) * 40,
    "not UTF-8": "# é\nx = 1\n".encode("latin-1"),
    "100 MB": b"# x\n" * 25_000_000,
    "null": b"x = 1\0\n",
}


@dataclass(frozen=True)
class Planned:
    """One submission: its exercise, its content, and whether it is right."""

    exercise: Exercise
    kind: str
    content: bytes
    right: bool = False


def right_and_wrong() -> Iterator[Planned]:
    """Without end: for each coding exercise the solution, its variants, and the file as shipped."""
    exercises = [e for e in course().exercises if e.kind in CODING]
    for turn in itertools.count():
        for number, e in enumerate(exercises):
            variants = subject(e.subject).variants
            if (turn + number) % 2 == 0:
                yield Planned(e, "right", solution(e.subject).encode(), right=True)
            elif turn % 5 == 4:
                yield Planned(e, "unfinished", starting_text(e).encode())
            else:
                text = variant_text(e.subject, variants[turn % len(variants)].name)
                yield Planned(e, "wrong", text.encode())


def hostile(submissions: Path, teacher: Path) -> Iterator[Planned]:
    """Without end: a loop, a bomb and two other attacks in turn."""
    e = course().exercise("scale")
    others = itertools.cycle([*ATTACKS.items(), *BYTES.items()])
    for loop, bomb in zip(itertools.cycle(LOOPS), itertools.cycle(BOMBS), strict=False):
        yield Planned(e, "loop", loop.encode())
        yield Planned(e, "memory", bomb.encode())
        for kind, content in itertools.islice(others, 2):
            if isinstance(content, str):
                text = content.replace("TEACHER", str(teacher))
                content = text.replace("SUBMISSIONS", str(submissions)).encode()
            yield Planned(e, kind, content)


def write(count: int, submissions: Path, teacher: Path) -> dict[tuple[str, str], Planned]:
    """Write the submissions, every fifth of them hostile; by student and exercise."""
    good, bad = right_and_wrong(), hostile(submissions, teacher)
    planned = {}
    for number in range(count):
        one = next(bad if number % 5 == 4 else good)
        student = f"student-{number:05d}"
        path = submissions / student / f"{one.exercise.name}.py"
        path.parent.mkdir(parents=True)
        path.write_bytes(one.content)
        planned[student, one.exercise.name] = one
    (submissions / "json.py").write_text("raise SystemExit('run by the grader')", encoding="utf-8")
    return planned


def problems(planned: dict[tuple[str, str], Planned], table: Path) -> Iterator[str]:
    """What is missing or wrong in the table."""
    with table.open(encoding="utf-8", newline="") as stream:
        rows = {(row["student"], row["exercise"]): row for row in csv.DictReader(stream)}
    for key, one in planned.items():
        row = rows.get(key)
        if row is None:
            yield f"{one.kind}: {key} has no row"
        elif row["passed"] != str(int(one.right)):
            yield f"{one.kind}: {key} passed={row['passed']}: {row['message']}"
        elif not one.right and not row["message"].strip():
            yield f"{one.kind}: {key} has no report"


def digest(folder: Path) -> str:
    """Of every name and every byte below a folder."""
    parts = [
        f"{p.relative_to(folder)} {p.read_bytes() if p.is_file() else ''!r}"
        for p in sorted(folder.rglob("*"))
    ]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def main() -> int:
    """Write, grade, check; the exit status is 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="class-"))
    submissions, teacher, table = root / "submissions", root / "teacher", root / "grades.csv"
    teacher.mkdir()
    (teacher / "points.csv").write_text("ada,100\n", encoding="utf-8")
    planned = write(options.count, submissions, teacher)
    before = digest(teacher), digest(submissions)
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-P", "-m", "clearhead", "learn", "grade", str(submissions),
         "-o", str(table), "--jobs", str(options.jobs)],
        cwd=submissions, check=False, capture_output=True, text=True,
    )  # fmt: skip
    seconds = time.monotonic() - start
    found = [f"exit status {done.returncode}: {done.stderr}"] if done.returncode else []
    found += problems(planned, table) if table.exists() else ["no table"]
    if (digest(teacher), digest(submissions)) != before:
        found.append("a file of the teacher's has changed")
    kinds = Counter(one.kind for one in planned.values())
    print(", ".join(f"{kind} {number}" for kind, number in kinds.items()))
    print(f"{len(planned)} submissions, {options.jobs} at a time: {seconds:.0f} s; {root}")
    print("\n".join([*found, f"{len(found)} problems"]))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
