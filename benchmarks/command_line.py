"""What a person waits for at the prompt: cold processes, seconds on the wall.

    python benchmarks/command_line.py

Median of several runs, each a new process of the installed `clearhead`.
"""

import shutil
import statistics
import subprocess
import time

from clearhead.compare.timing import describe_machine

RUNS = 7
COMMANDS = {
    "clearhead --help": ["--help"],
    "clearhead translate, one sentence": ["translate", "I would like a cup of coffee."],
}


def main() -> None:
    """Time every command and print a table."""
    program = shutil.which("clearhead")
    if program is None:
        raise SystemExit("clearhead is not on the PATH; install the project first")
    print(describe_machine())
    for name, arguments in COMMANDS.items():
        times = [_seconds([program, *arguments]) for _ in range(RUNS + 1)][1:]
        print(f"{name:36} {statistics.median(times):.2f} s  ({min(times):.2f} to {max(times):.2f})")


def _seconds(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
