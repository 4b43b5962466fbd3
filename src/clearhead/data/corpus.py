"""From the value of `--data` to a stream of pairs, and from `data.train` to one of texts.

| value | corpus |
|---|---|
| `pairs.tsv`, `pairs.txt` | source TAB target (TAB attribution) |
| `text.en,text.fr` | two files, line by line |
| `memory.tmx` | translation memory |
| `pairs.jsonl` | one JSON object a line |
| `hf:NAME[:CONFIG][:SPLIT]` | Hugging Face data set, by name or directory |
| `grammar:SPLIT:COUNT[:SEED]` | the built-in grammar |
| `grammar:wide:SPLIT:COUNT[:SEED]` | the same with a large lexicon, numbers, dates and names |
| `pairs.tsv + memory.tmx + …` | the pairs of all, one corpus after the other |

| value | texts in one language |
|---|---|
| a file | its paragraphs, separated by blank lines, or its lines |
| `grammar:[wide:]SPLIT:COUNT[:SEED]` | the English sentences of the built-in grammar |
| `measured:COUNT[:SEED]` | sentences whose probabilities are known (`weighted_english`) |
| `one.txt + two.txt + …` | the texts of all, one corpus after the other |

Every file may be compressed: `pairs.tsv.gz`.
"""

import difflib
import os
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import groupby, islice, starmap
from pathlib import Path
from typing import Literal

from clearhead.data.huggingface import HuggingFacePairs, parse_name
from clearhead.data.lines import read_lines
from clearhead.data.pairs import (
    AlignedPairs,
    FilePairs,
    JoinedPairs,
    JsonlPairs,
    Pair,
    Pairs,
    TsvPairs,
    is_blank,
)
from clearhead.data.tmx import TmxPairs
from clearhead.errors import UserError

Unit = Literal["paragraph", "line"]
READERS: dict[str, type[FilePairs]] = {
    ".tsv": TsvPairs,
    ".txt": TsvPairs,
    ".tmx": TmxPairs,
    ".jsonl": JsonlPairs,
}


def open_pairs(spec: str | Path, source_lang: str = "en", target_lang: str = "fr") -> Pairs:
    """Open a corpus, whose pairs are streamed and can be iterated any number of times.

    Raises:
        UserError: at once for an unknown form or a missing file; while iterating, for an
            error in the corpus.
    """
    text = str(spec)
    if len(parts := named_corpora(text)) > 1:
        return JoinedPairs([open_pairs(part, source_lang, target_lang) for part in parts])
    if text.startswith("hf:"):
        name, config, split = parse_name(text.removeprefix("hf:"))
        return HuggingFacePairs(name, config, split, source_lang, target_lang)
    if text.startswith("grammar:"):
        return parse_grammar(text)
    if "," in text and not os.path.exists(text):
        return _open_two(text)
    return _open_one(_existing(text), source_lang, target_lang)


def named_corpora(spec: str) -> list[str]:
    """The corpora of `a.tsv + b.tmx`, none empty; an existing file of such a name is one."""
    parts = [spec] if os.path.exists(spec) else [part.strip() for part in spec.split(" + ")]
    if len(parts) > 1 and not all(parts):
        raise UserError(f"{spec!r}: expected a corpus on both sides of '+'")
    return parts


def _open_one(path: Path, source_lang: str, target_lang: str) -> Pairs:
    extension = (path.with_suffix("") if path.suffix == ".gz" else path).suffix.lower()
    if extension not in READERS:
        near = difflib.get_close_matches(extension, READERS, n=1, cutoff=0.5)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise UserError(
            f"{path}: unknown file extension, expected {', '.join(READERS)}{hint}, "
            "each also with .gz, or two files as SOURCE,TARGET"
        )
    return READERS[extension](path, source_lang, target_lang)


def _open_two(spec: str) -> Pairs:
    names = spec.split(",")
    if len(names) != 2 or not all(names):
        raise UserError(f"{spec}: expected two files as SOURCE,TARGET, found {len(names)} names")
    return AlignedPairs(_existing(names[0]), _existing(names[1]))


def _existing(name: str) -> Path:
    path = Path(name)
    if not name:
        raise UserError(
            f"the name of the corpus is empty; expected a file ({', '.join(READERS)}), "
            "SOURCE,TARGET or grammar:SPLIT:COUNT"
        )
    if os.path.isdir(name):  # unlike Path.is_dir, it accepts a name of any length
        raise UserError(
            f"{name} is a directory, expected a file ({', '.join(READERS)}) or SOURCE,TARGET"
        )
    if not os.path.exists(name):
        raise UserError(f"{name[:200]} does not exist{_near(path)}; {_advice(path)}")
    return path


def _near(path: Path) -> str:
    """Similar names in the same directory."""
    try:
        names = os.listdir(path.parent)
    except OSError:
        return f", nor does the directory {path.parent}"
    close = difflib.get_close_matches(path.name, names, n=3)
    return f" (near names: {', '.join(close)})" if close else ""


def _advice(path: Path) -> str:
    """The command for a corpus of the catalogue, which is known by its directory."""
    from clearhead.data.download import CATALOGUE

    if (name := path.parent.name) in CATALOGUE:
        return f"get it with `clearhead data get {name}`"
    return "expected the path of a corpus file"


class GrammarPairs(Pairs):
    """The first `count` sentences that a built-in grammar generates for a split and a seed.

    `grammar:` alone is the small grammar, whose pairs stay the same for a seed; `grammar:wide:`
    has the wide lexicon and the productions for numbers, dates, times, money, measures and names,
    and its training pairs have marked phrases (`clearhead.data.grammar.marks`).
    """

    unit = "pair"

    def __init__(self, split: str, count: int, seed: int = 0, grammar: str = "small") -> None:
        self.split, self.count, self.seed, self.grammar = split, count, seed, grammar
        self.name = f"grammar:{'wide:' if grammar == 'wide' else ''}{split}:{count}:{seed}"

    def rows(self) -> Iterator[Pair]:  # noqa: D102 (described by Pairs)
        from clearhead.data.grammar import GRAMMARS
        from clearhead.data.grammar.marks import marked

        pairs = islice(GRAMMARS[self.grammar](self.split, self.seed), self.count)
        if (self.grammar, self.split) == ("wide", "train"):
            sides = marked(pairs, self.seed)
        else:
            sides = ((pair.source, pair.target) for pair in pairs)
        yield from self.numbered(starmap(Pair, sides))


def parse_grammar(spec: str) -> GrammarPairs:
    """Read `grammar:[wide:]SPLIT:COUNT[:SEED]`; a UserError for another form."""
    parts = spec.split(":")[1:]
    grammar = "wide" if parts[0] == "wide" else "small"
    split, *numbers = parts[1:] if grammar == "wide" and parts[1:] else parts
    if len(numbers) not in (1, 2) or not split or not all(map(_is_number, numbers)):
        raise UserError(
            f"{spec}: expected grammar:SPLIT:COUNT or grammar:SPLIT:COUNT:SEED, "
            "for example grammar:train:20000, or the same with grammar:wide:"
        )
    count, seed = (*map(int, numbers), 0)[:2]
    return GrammarPairs(split, count, seed, grammar)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 19


class Texts:
    """Texts that can be read any number of times, always the same; blank ones are skipped.

    Raises:
        UserError: at once for a missing file or an unknown form; while iterating, for a file
            that cannot be read or holds no text.
    """

    def __init__(self, spec: str, unit: Unit = "paragraph") -> None:
        self.corpora, self.unit = named_corpora(spec), unit
        for corpus in self.corpora:
            if corpus.startswith("grammar:"):
                parse_grammar(corpus)
            elif corpus.startswith("measured:"):
                parse_measured(corpus)
            else:
                _check_file(corpus)

    def __iter__(self) -> Iterator[str]:
        for corpus in self.corpora:
            empty = True
            for text in self._read(corpus):
                empty = False
                yield text
            if empty:
                raise UserError(f"{corpus} holds no text; expected at least one {self.unit}")

    def _read(self, corpus: str) -> Iterator[str]:
        if corpus.startswith("grammar:"):
            yield from (pair.source for pair in parse_grammar(corpus))
        elif corpus.startswith("measured:"):
            yield from parse_measured(corpus)
        elif self.unit == "line":
            yield from (line for line in read_lines(corpus) if not is_blank(line))
        else:
            for blank, lines in groupby(read_lines(corpus), is_blank):
                if not blank:
                    yield "\n".join(lines)


class Share:
    """This share of the texts, from the second on, for validation (`judged`), or all others."""

    def __init__(self, texts: Iterable[str], share: float, judged: bool) -> None:
        self.texts, self.judged = texts, judged
        self.share = Fraction(max(share, 1e-6)).limit_denominator(10**6)

    def __iter__(self) -> Iterator[str]:
        some, of = self.share.as_integer_ratio()
        for number, text in enumerate(self.texts):
            if ((number - 1) * some % of < some) is self.judged:
                yield text


def parse_measured(spec: str) -> Iterable[str]:
    """Read `measured:COUNT[:SEED]`, for example `measured:100000`."""
    from clearhead.data.weighted_english import Measured

    numbers = spec.split(":")[1:]
    if len(numbers) not in (1, 2) or not all(map(_is_number, numbers)):
        raise UserError(
            f"{spec}: expected measured:COUNT or measured:COUNT:SEED, for example measured:100000"
        )
    return Measured(*map(int, numbers))


def _check_file(spec: str) -> None:
    path = Path(spec)
    if not spec:
        raise UserError("data.train is empty; name a text, for example --set data.train=my.txt")
    if path.is_dir():
        raise UserError(f"{spec} is a directory, expected a text file")
    if not path.exists():
        try:
            near = difflib.get_close_matches(path.name, os.listdir(path.parent), n=1)
        except OSError:
            near = []
        hint = f"; did you mean {path.with_name(near[0])}?" if near else ""
        raise UserError(
            f"{spec} does not exist; expected a text file, grammar:SPLIT:COUNT or "
            f"measured:COUNT{hint}"
        )
