"""Export of a model directory to the format of another engine."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clearhead.export.directory import new_directory
from clearhead.export.targets import Target, builder_of
from clearhead.models import Transformer
from clearhead.text import Tokenizer

_VERBOSE = ("torch.onnx", "transformers", "onnxscript", "onnx_ir")


def export(source: Path, target: Target, output: Path, precision: str) -> None:
    """Write the model in `source` to `output`, completely or not at all.

    Its README.md is the model's own, which contains the attribution of the training data, with an
    example of its use in the target.

    Raises:
        UserError: there is no such model, it does not fit the target, a package is missing, or
            `output` exists or cannot be written.
    """
    builder = builder_of(target)
    with new_directory(output) as directory:
        model, tokenizer = Transformer.from_pretrained(source), Tokenizer.load(source)
        with quiet():
            builder.build(model, tokenizer, directory, precision)
        _write_card(source / "README.md", f"Use with {target.title}", builder.USAGE, directory)


def _write_card(card: Path, title: str, usage: str, directory: Path) -> None:
    own = card.read_text(encoding="utf-8").rstrip() + "\n\n" if card.is_file() else ""
    text = f"{own}## {title}\n\n```python\n{usage.strip()}\n```\n"
    (directory / "README.md").write_text(text, encoding="utf-8", newline="\n")


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress warnings and log lines below error level of the exporting libraries."""
    loggers = [logging.getLogger(name) for name in _VERBOSE]
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
