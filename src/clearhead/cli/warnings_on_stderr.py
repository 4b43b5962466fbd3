"""Warnings of the library, as lines on standard error while a verb runs."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def warnings_on_stderr(quiet: bool) -> Iterator[None]:
    """Print what `clearhead` loggers warn of; `quiet` leaves errors only."""
    logger = logging.getLogger("clearhead")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("clearhead: %(levelname)s: %(message)s"))
    handler.setLevel(logging.ERROR if quiet else logging.WARNING)
    handler.addFilter(_in_lower_case)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def _in_lower_case(record: logging.LogRecord) -> bool:
    record.levelname = record.levelname.lower()
    return True
