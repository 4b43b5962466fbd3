"""From a model directory to a directory of another engine."""

from pathlib import Path

from clearhead.export.directory import new_directory
from clearhead.export.quiet import quiet
from clearhead.export.targets import Target, builder_of
from clearhead.models import Transformer
from clearhead.text import Tokenizer


def export(source: Path, target: Target, output: Path, precision: str) -> None:
    """Write the model in `source` to `output`, which then stands there whole.

    Its README.md is the model's own, with whose text it learned from, and how to use it there.

    Raises:
        UserError: no such model, it does not fit the target, a package is missing, or
            `output` is taken or cannot be written.
    """
    builder = builder_of(target)
    with new_directory(output) as directory:
        model, tokenizer = Transformer.from_pretrained(source), Tokenizer.load(source)
        with quiet():
            builder.build(model, tokenizer, directory, precision)
        _write_card(source / "README.md", f"Use with {target.title}", builder.USAGE, directory)


def _write_card(card: Path, title: str, usage: str, directory: Path) -> None:
    told = card.read_text(encoding="utf-8").rstrip() + "\n\n" if card.is_file() else ""
    text = f"{told}## {title}\n\n```python\n{usage.strip()}\n```\n"
    (directory / "README.md").write_text(text, encoding="utf-8", newline="\n")
