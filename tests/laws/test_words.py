"""Words that were replaced by the terms of the field do not come back."""

import re
from pathlib import Path

import pytest

from tests.laws.tree import ROOT

# What was written, and the term that replaced it (a regular expression and a word).
REPLACED = {
    r"(?:end|begin|start) signs?": "EOS token, BOS token",
    r"made[- ]up (?:names?|numbers?|ones?|words?)": "synthetic",
    r"ribbons?": "token stream",
    r"side by side": "in parallel",
    r"by turns": "alternately",
    r"float32 masters": "float32 master weights",
    r"strangers?": "rows of other sentences",
    r"who looks|who may look|who sees": "attends to",
    r"whom": "which",
    r"somebody|nobody": "name the thing",
    r"heads[ _]off": "head ablation",
    r"(?:reading|writing) half": "encoder, decoder",
    r"side door": "low-rank adapter",
    r"tables? of (?:words|embeddings)": "embedding matrix",
    r"filling|filled up": "padding, padded",
    r"contestants?|muster": "engine, peer",
    r"verdicts?": "validation result",
    r"keepers?\b": "checkpoint manager",
    r"a tour of the rooms|rooms of the": "packages",
    r"turn in place": "rotary embedding",
}
# Files in which one of these words is data or a different word.
ALLOWED = {
    "filling": {"benchmarks/productions.py", "src/clearhead/pipelines/__init__.py"},
    "whom": set[str](),
}
SKIPPED = ("src/clearhead/data/grammar", "src/clearhead/data/weighted_english.py", "tests/")
KINDS = {".py", ".md", ".sh", ".yaml", ".toml", ".css", ".js"}


def texts() -> list[Path]:
    """Every file whose text people read, without sentences that are data, and tests."""
    folders = ["src", "docs", "recipes", "notebooks", "benchmarks", "book"]
    found = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    found += [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    names = {path: path.relative_to(ROOT).as_posix() for path in found if path.suffix in KINDS}
    return sorted(path for path, name in names.items() if not name.startswith(SKIPPED))


@pytest.mark.parametrize("pattern", REPLACED, ids=lambda pattern: pattern[:24])
def test_a_replaced_word_does_not_return(pattern: str) -> None:
    word = re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE)
    found = []
    for path in texts():
        name = path.relative_to(ROOT).as_posix()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = word.search(line)
            if match and name not in ALLOWED.get(match[0].lower(), set()):
                found.append(f"{name}:{number}: {line.strip()[:100]}")
    assert not found, f"write {REPLACED[pattern]!r} instead"


def test_the_list_finds_what_it_forbids(tmp_path: Path) -> None:
    """The patterns match the words of the glossary in a sentence."""
    sentence = "Somebody put the end sign, with made-up names, into the ribbon, side by side."
    found = [p for p in REPLACED if re.search(rf"\b(?:{p})\b", sentence, re.IGNORECASE)]
    assert len(found) == 5
