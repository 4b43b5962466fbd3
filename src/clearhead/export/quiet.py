"""What other people's exporters have to say to their developers is not said to our users."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_TALKATIVE = ("torch.onnx", "transformers", "onnxscript", "onnx_ir")


@contextmanager
def quiet() -> Iterator[None]:
    """No warnings and no log lines below an error from the libraries that are called here."""
    loggers = [logging.getLogger(name) for name in _TALKATIVE]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
