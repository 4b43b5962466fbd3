"""From what a user writes after `--data` to a stream of pairs.

| written | read as |
|---|---|
| `pairs.tsv`, `pairs.txt` | source TAB target (TAB attribution) |
| `text.en,text.fr` | two files, line by line |
| `memory.tmx` | translation memory |
| `pairs.jsonl` | one JSON object a line |
| `hf:NAME[:CONFIG][:SPLIT]` | Hugging Face data set, by name or directory |
| `grammar:SPLIT:COUNT[:SEED]` | the built-in grammar |
| `pairs.tsv + memory.tmx + …` | one after the other |

Every file may be compressed: `pairs.tsv.gz`.
"""

import difflib
import os
from collections.abc import Callable
from pathlib import Path

from clearhead.data.aligned import AlignedPairs
from clearhead.data.grammar_pairs import parse_grammar
from clearhead.data.huggingface import HuggingFacePairs, parse_name
from clearhead.data.joined import JoinedPairs
from clearhead.data.jsonl import JsonlPairs
from clearhead.data.pairs import Pairs
from clearhead.data.tmx import TmxPairs
from clearhead.data.tsv import TsvPairs
from clearhead.errors import UserError

READERS: dict[str, Callable[[Path, str, str], Pairs]] = {
    ".tsv": lambda path, source, target: TsvPairs(path),
    ".txt": lambda path, source, target: TsvPairs(path),
    ".tmx": TmxPairs,
    ".jsonl": JsonlPairs,
}


def open_pairs(spec: str | Path, source_lang: str = "en", target_lang: str = "fr") -> Pairs:
    """Open a corpus; the result can be iterated any number of times and streams.

    Raises:
        UserError: at once for an unknown form or a missing file; while iterating
            for what is wrong inside.
    """
    text = str(spec)
    if len(parts := named_corpora(text)) > 1:
        return JoinedPairs([open_pairs(part, source_lang, target_lang) for part in parts])
    if text.startswith("hf:"):
        name, config, split = parse_name(text.removeprefix("hf:"))
        return HuggingFacePairs(name, config, split, source_lang, target_lang)
    if text.startswith("grammar:"):
        return parse_grammar(text)
    if "," in text and not Path(text).exists():
        return _open_two(text)
    return _open_one(_existing(text), source_lang, target_lang)


def named_corpora(spec: str) -> list[str]:
    """`a.tsv + b.tmx` -> both; anything else, a file with such a name included, is one.

    Raises:
        UserError: a side of a plus is empty.
    """
    parts = [spec] if Path(spec).exists() else [part.strip() for part in spec.split(" + ")]
    if len(parts) > 1 and not all(parts):
        raise UserError(f"{spec!r}: expected a corpus on both sides of '+'")
    return parts


def _open_one(path: Path, source_lang: str, target_lang: str) -> Pairs:
    extension = (path.with_suffix("") if path.suffix == ".gz" else path).suffix.lower()
    if extension not in READERS:
        near = difflib.get_close_matches(extension, READERS, n=1, cutoff=0.5)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise UserError(
            f"{path}: cannot tell the form from the name, expected {', '.join(READERS)}{hint}, "
            "each perhaps with .gz, or two files as SOURCE,TARGET"
        )
    return READERS[extension](path, source_lang, target_lang)


def _open_two(spec: str) -> Pairs:
    names = spec.split(",")
    if len(names) != 2 or not all(names):
        raise UserError(f"{spec}: expected two files as SOURCE,TARGET, found {len(names)} names")
    return AlignedPairs(_existing(names[0]), _existing(names[1]))


def _existing(name: str) -> Path:
    path = Path(name)
    if path.is_dir():
        raise UserError(
            f"{name} is a directory, expected a file ({', '.join(READERS)}) or SOURCE,TARGET"
        )
    if not path.exists():
        raise UserError(f"{name} does not exist{_near(path)}; expected the path of a corpus file")
    return path


def _near(path: Path) -> str:
    """Names in the same directory that were perhaps meant."""
    try:
        names = os.listdir(path.parent)
    except OSError:
        return f", nor does the directory {path.parent}"
    close = difflib.get_close_matches(path.name, names, n=3)
    return f" (near names: {', '.join(close)})" if close else ""
