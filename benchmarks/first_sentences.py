"""Score a model on the development set of first sentences, by category.

    python benchmarks/first_sentences.py [--model DIRECTORY] [--beam-size 4] [--show] [--json]

`first_sentences.jsonl` holds 200 English sentences of the kind a new user types first. It is a
development set: written before the training corpus, and never trained on. Each line has
`category`, `source`, and

- `references`: accepted French translations, written as patterns. `{a|b}` stands for `a` or
  `b`, so "{Peux-tu|Pouvez-vous} venir ?" stands for two references.
- `names` and `numbers`: the strings that a translation has to contain, each as a list of its
  accepted forms. A space in a form matches any space or none ("9 h 45" also accepts "9h45").

A translation is correct if its best sentence chrF over the references is at least 85 and no
name or number is missing. URLs, e-mail addresses, code and emoji count as names.
"""

import argparse
import json
import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import product
from pathlib import Path

from sacrebleu.metrics.chrf import CHRF

from clearhead import Translator
from clearhead.compare.timing import describe_machine
from clearhead.data.lines import read_lines
from clearhead.errors import UserError

DATA = Path(__file__).with_suffix(".jsonl")
CORRECT = 85.0  # chrF
FIELDS = {"category", "source", "references", "names", "numbers"}
CHOICE = re.compile(r"\{([^{}]*)\}")

Forms = tuple[str, ...]  # the accepted forms of one name or number


@dataclass(frozen=True)
class FirstSentence:
    """An English sentence, its accepted translations, and what these have to contain."""

    category: str
    source: str
    patterns: tuple[str, ...]
    names: tuple[Forms, ...] = ()
    numbers: tuple[Forms, ...] = ()

    @cached_property
    def references(self) -> list[str]:
        """All patterns expanded, without duplicates."""
        expanded = [reference for pattern in self.patterns for reference in expand(pattern)]
        return list(dict.fromkeys(expanded))


@dataclass(frozen=True)
class Outcome:
    """The score of one translation."""

    category: str
    source: str
    translation: str
    best_reference: str
    chrf: float
    missing_names: list[str]
    missing_numbers: list[str]
    correct: bool


@dataclass
class Tally:
    """Sums over the sentences of one category."""

    sentences: int = 0
    correct: int = 0
    chrf: float = 0.0
    names: int = 0
    names_copied: int = 0
    numbers: int = 0
    numbers_copied: int = 0

    def add(self, sentence: FirstSentence, outcome: Outcome) -> None:
        """Count one sentence."""
        self.sentences += 1
        self.correct += outcome.correct
        self.chrf += outcome.chrf
        self.names += len(sentence.names)
        self.names_copied += len(sentence.names) - len(outcome.missing_names)
        self.numbers += len(sentence.numbers)
        self.numbers_copied += len(sentence.numbers) - len(outcome.missing_numbers)

    @property
    def mean_chrf(self) -> float:
        """The mean sentence chrF."""
        return self.chrf / self.sentences


def expand(pattern: str) -> Iterator[str]:
    """All texts that a pattern stands for: "{Il|Elle} dort" gives "Il dort" and "Elle dort"."""
    parts = CHOICE.split(pattern)  # odd parts are the choices
    options = [part.split("|") if i % 2 else [part] for i, part in enumerate(parts)]
    yield from ("".join(choice) for choice in product(*options))


def read_sentences(path: Path) -> list[FirstSentence]:
    """Read a set of first sentences.

    Raises:
        UserError: the file cannot be read or is empty, or a line is no JSON object with the five
            fields; the line is named.
    """
    found = [parse(line, f"{path}, line {n}") for n, line in enumerate(read_lines(path), 1)]
    if not found:
        raise UserError(f"{path} is empty; expected one JSON object a line")
    return found


def parse(line: str, location: str) -> FirstSentence:
    """Read one line; `location` is named in the error."""
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise UserError(f"{location}: not JSON ({error.msg}); write one object a line") from error
    if not isinstance(row, dict) or set(row) != FIELDS:
        raise UserError(f"{location}: expected an object with the fields {sorted(FIELDS)}")
    if not row["source"] or not row["references"]:
        raise UserError(f"{location}: the source or the references are empty; fill in both")
    texts = [row["category"], row["source"]]
    if not all(isinstance(text, str) for text in texts) or not are_texts(row["references"]):
        raise UserError(f"{location}: expected two texts and a list of texts as references")
    for field in ("names", "numbers"):
        if not isinstance(row[field], list) or not all(map(are_texts, row[field])):
            raise UserError(
                f'{location}: {field} has to be a list of lists of accepted forms, as [["9 h"]]'
            )
    return FirstSentence(
        row["category"],
        row["source"],
        tuple(row["references"]),
        tuple(map(tuple, row["names"])),
        tuple(map(tuple, row["numbers"])),
    )


def are_texts(value: object) -> bool:
    """Whether it is a list of at least one text, none empty."""
    return isinstance(value, list) and value != [] and all(isinstance(v, str) and v for v in value)


def score(sentence: FirstSentence, translation: str) -> Outcome:
    """Compare one translation with the references, names and numbers of its sentence."""
    metric, plain = CHRF(), normalize(translation)
    chrf, best = max(
        (metric.sentence_score(plain, [normalize(reference)]).score, reference)
        for reference in sentence.references
    )
    names, numbers = missing(sentence.names, plain), missing(sentence.numbers, plain)
    correct = chrf >= CORRECT and not names and not numbers
    return Outcome(
        sentence.category, sentence.source, translation, best, chrf, names, numbers, correct
    )


def normalize(text: str) -> str:
    """NFC with straight apostrophes; chrF itself ignores spaces of every kind."""
    return unicodedata.normalize("NFC", text).replace("’", "'")


def missing(required: Sequence[Forms], translation: str) -> list[str]:
    """The first form of every name or number that occurs in none of its forms."""
    return [forms[0] for forms in required if not any(contains(translation, f) for f in forms)]


def contains(text: str, form: str) -> bool:
    """Whether the form occurs in the text, and not as a part of a longer name or number."""
    core = r"\s*".join(re.escape(part) for part in form.split())
    before, after = r"(?<!\w)(?<!\w[./@-])", r"(?!\w|[./@-]\w)"
    if form[0].isdigit():
        before += r"(?<!\d[\s,])"
    if form[-1].isdigit():
        after += r"(?![\s,]\d)"
    return re.search(before + core + after, text) is not None


def tally(sentences: Sequence[FirstSentence], outcomes: Sequence[Outcome]) -> dict[str, Tally]:
    """The sums by category, in the order of the file, and last those of all sentences."""
    tallies = {sentence.category: Tally() for sentence in sentences} | {"all": Tally()}
    for sentence, outcome in zip(sentences, outcomes, strict=True):
        for name in (sentence.category, "all"):
            tallies[name].add(sentence, outcome)
    return tallies


def table(tallies: dict[str, Tally]) -> Iterator[str]:
    """A header and one row a category."""
    yield f"{'category':20} {'correct':>9} {'':>6} {'chrF':>6} {'names':>9} {'numbers':>9}"
    for name, t in tallies.items():
        share, names = t.correct / t.sentences, f"{t.names_copied}/{t.names}"
        numbers = f"{t.numbers_copied}/{t.numbers}"
        correct = f"{t.correct}/{t.sentences}"
        yield f"{name:20} {correct:>9} {share:6.1%} {t.mean_chrf:6.1f} {names:>9} {numbers:>9}"


def listing(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Every sentence with its translation, its best reference and what is missing."""
    for outcome in outcomes:
        mark = "ok " if outcome.correct else "BAD"
        yield f"{mark} {outcome.chrf:5.1f}  {outcome.category}: {outcome.source}"
        yield f"           {outcome.translation}"
        yield f"           {outcome.best_reference}"
        absent = outcome.missing_names + outcome.missing_numbers
        if absent:
            yield f"           missing: {', '.join(absent)}"


def as_json(tallies: dict[str, Tally], outcomes: Sequence[Outcome], setting: str) -> str:
    """The table and every outcome as one JSON object."""
    rows = {name: asdict(t) | {"chrf": t.mean_chrf} for name, t in tallies.items()}
    result = {"setting": setting, "categories": rows, "sentences": [asdict(o) for o in outcomes]}
    return json.dumps(result, ensure_ascii=False, indent=1)


def run(arguments: argparse.Namespace) -> None:
    """Translate, score and print."""
    sentences = read_sentences(arguments.data)
    translator = Translator.from_pretrained(arguments.model)
    sources = [sentence.source for sentence in sentences]
    translations = translator.translate(sources, beam_size=arguments.beam_size)
    outcomes = [score(*pair) for pair in zip(sentences, translations, strict=True)]
    tallies = tally(sentences, outcomes)
    setting = f"model {arguments.model or 'shipped'}, beam size {arguments.beam_size}"
    if arguments.json:
        print(as_json(tallies, outcomes, setting))
        return
    if arguments.show:
        print(*listing(outcomes), "", sep="\n")
    print(describe_machine(), setting, *table(tallies), sep="\n")


def main() -> None:
    """Read the command line; an error of the user is one line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", help="a model directory (default: the shipped model)")
    parser.add_argument("--beam-size", type=int, default=4)
    parser.add_argument("--data", type=Path, default=DATA, help="another set of the same form")
    parser.add_argument("--show", action="store_true", help="print every translation")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    try:
        run(parser.parse_args())
    except UserError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
