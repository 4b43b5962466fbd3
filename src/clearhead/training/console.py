"""The log of a run goes to the console and, with the time, to train.log."""

import logging
import sys
from pathlib import Path

log = logging.getLogger("clearhead")


def show_log(path: Path) -> None:
    """Send what the run says to stderr and to `path`."""
    log.setLevel(logging.INFO)
    console = logging.StreamHandler(sys.stderr)
    file = logging.FileHandler(path, encoding="utf-8")
    file.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    for handler in (console, file):
        log.addHandler(handler)
