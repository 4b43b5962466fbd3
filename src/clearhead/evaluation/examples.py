"""Test sets, and files of hypotheses: one plain translation per line, in the same order."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from clearhead.data import open_pairs
from clearhead.data.corpus import GrammarPairs, named_corpora
from clearhead.data.grammar import GRAMMARS, GrammarPair
from clearhead.data.lines import read_lines
from clearhead.errors import UserError, counted
from clearhead.files import atomic_write, is_same_file, is_special


@dataclass(frozen=True)
class Examples:
    """Sources with their references; `grammar` if they come from the built-in grammar."""

    sources: list[str]
    references: list[str]
    grammar: list[GrammarPair] | None = None

    def __len__(self) -> int:
        return len(self.references)


def read_examples(
    spec: str, limit: int | None = None, source_lang: str = "en", target_lang: str = "fr"
) -> Examples:
    """Read a corpus named as for `clearhead.data.open_pairs`, or its first `limit` pairs.

    Unlike training, evaluation keeps pairs with an empty side, so that every line stays aligned
    with its hypothesis.

    Raises:
        UserError: the corpus cannot be read or is empty.
    """
    if limit is not None and limit < 1:
        raise UserError(f"limit={limit} leaves no line to evaluate; give at least 1")
    corpus = open_pairs(spec, source_lang, target_lang)
    if isinstance(corpus, GrammarPairs):
        generate = GRAMMARS[corpus.grammar]
        count = corpus.count if limit is None else min(corpus.count, limit)
        generated = list(islice(generate(corpus.split, corpus.seed), count))
        sources, targets = [p.source for p in generated], [p.target for p in generated]
        examples = Examples(sources, targets, generated)
    else:
        rows = list(islice(corpus.rows(), limit))
        examples = Examples([row.source for row in rows], [row.target for row in rows])
    if not len(examples):
        raise UserError(f"{spec} holds no pair of sentences; expected at least one")
    return examples


def read_hypotheses(path: str | Path, lines: int, limited: bool = False) -> list[str]:
    """One hypothesis per line of the test set; with `limited`, only the first `lines` lines.

    Raises:
        UserError: the file cannot be read, or its number of lines differs from the test set's.
    """
    found = list(islice(read_lines(path), lines if limited else None))
    if len(found) != lines:
        raise UserError(
            f"{path} has {counted(len(found), 'line')} and the test set has {lines}; expected one "
            "line for each pair, blank ones included, in the order of the test set"
        )
    return found


def write_hypotheses(path: str | Path, hypotheses: Sequence[str]) -> None:
    """Write one hypothesis per line, atomically."""
    atomic_write(path, "".join(f"{line}\n" for line in hypotheses))


def check_writable(
    path: Path, spec: str = "", others: Mapping[str, Path | None] | None = None
) -> None:
    """Check before a long computation that its result can be written.

    Args:
        spec: the test set, which must not be overwritten.
        others: further files that are read, by their options.

    Raises:
        UserError: `path` is a directory, in a directory that is not writable, or a file that is
            read.
    """
    if path.is_dir():
        raise UserError(f"cannot write {path}: it is a directory; give the name of a file")
    existing = next(p for p in (path.parent, *path.parent.absolute().parents) if p.exists())
    if not (is_special(path) or (existing.is_dir() and os.access(existing, os.W_OK))):
        raise UserError(
            f"cannot write {path}: {existing} is not a writable directory; "
            "give another location with --output FILE"
        )
    read: list[tuple[str, str | Path | None]] = [
        ("the test set", name)
        for corpus in named_corpora(spec)
        for name in (corpus, *corpus.split(","))
    ]
    read += [(f"the file of {option}", name) for option, name in (others or {}).items()]
    for role, name in read:
        if name and is_same_file(path, name):
            raise UserError(f"cannot write {path}: it is {role}; give another file with --output")


def default_name(
    data: str, model: str | Path | None, others: int = 0, limit: int | None = None
) -> Path:
    """`DATA.MODEL.hyp`, so that the hypotheses of different models have different names.

    `data/test.tsv` and `runs/mine/best` make `data-test.mine-best.hyp`; `grammar:test:1000` and no
    model, `grammar-test-1000.shipped.hyp`; `a.tsv + b.tsv`, `a+b.shipped.hyp`. Two `others` in an
    ensemble make `shipped+2`, a `limit` of 9 pairs `test-first-9`.
    """
    name = _model_name(Path(model)) if model else "shipped"
    corpora = "+".join(map(_corpus_name, named_corpora(data)))
    corpora += f"-first-{limit}" if limit else ""
    return Path(f"{corpora}.{name}{f'+{others}' if others else ''}.hyp")


def _corpus_name(data: str) -> str:
    if re.match(r"(hf|grammar):", data):
        return re.sub(r"[^\w.-]+", "-", data)
    first = Path(data.split(",")[0])
    folder = first.parent.name.strip(".")
    return f"{folder}{'-' * bool(folder)}{first.name.split('.')[0] or 'data'}"


def _model_name(model: Path) -> str:
    resolved = model.resolve()
    if resolved.name in ("best", "last"):  # the run's directory has the distinctive name
        return f"{resolved.parent.name}-{resolved.name}"
    return resolved.name or "model"
