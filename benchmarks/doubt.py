"""Precision and recall of `--mark-doubt`, and the threshold of a model's scores.

    python -m benchmarks.doubt [--model DIRECTORY] [--write] [--show] [--data FILE]

Translates the development set of first sentences (`first_sentences.py` says when a translation
is correct) and marks doubtful translations. A mark on an incorrect translation is a hit.
Precision is the share of the marks that are hits, recall the share of the incorrect
translations that are marked.

The table has one row for each threshold of the score per token, and one for each check alone.
`--write` stores the threshold with the highest F1 in the model directory (`doubt.json`). Run it
after each training of the shipped model; scores of different models are not comparable.
"""

import argparse
import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from benchmarks.first_sentences import DATA, read_sentences, score
from clearhead import Translator
from clearhead.compare.timing import describe_machine
from clearhead.decoding import DecodingOptions
from clearhead.errors import UserError
from clearhead.files import atomic_write
from clearhead.translation import Translation
from clearhead.translation.loading import THRESHOLD_FILE, find_model

THRESHOLDS = [-0.1 - 0.05 * step for step in range(15)]
NEVER = -math.inf
DIGITS = 3  # of a threshold in the table and in `doubt.json`


@dataclass(frozen=True)
class Judged:
    """A translation: its score per token, whether anything else marks it, whether it is right."""

    per_token: float
    marked_anyway: bool
    correct: bool


@dataclass(frozen=True)
class Marks:
    """The marks that one threshold gives; a mark on a wrong translation is a hit."""

    threshold: float
    marked: int
    hits: int
    wrong: int

    @classmethod
    def at(cls, threshold: float, translations: Iterable[Judged]) -> "Marks":
        """The marks on these translations."""
        all_of_them = list(translations)
        marked = [t for t in all_of_them if t.marked_anyway or t.per_token < threshold]
        hits = sum(not t.correct for t in marked)
        return cls(threshold, len(marked), hits, sum(not t.correct for t in all_of_them))

    @property
    def precision(self) -> float:
        """The share of the marks that are on wrong translations; 1 without any mark."""
        return self.hits / self.marked if self.marked else 1.0

    @property
    def recall(self) -> float:
        """The share of the wrong translations that are marked; 1 if none is wrong."""
        return self.hits / self.wrong if self.wrong else 1.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.hits / (self.marked + self.wrong) if self.wrong else 0.0


def best_threshold(translations: Sequence[Judged]) -> float:
    """The threshold with the highest F1, halfway between two scores, with the digits that are kept.

    Among equals the lowest, which marks least. Without a wrong translation nothing can be
    measured, and the threshold is minus infinity.
    """
    if all(t.correct for t in translations):
        return -math.inf
    scores = sorted({t.per_token for t in translations})
    middles = [(low + high) / 2 for low, high in pairwise(scores)]
    candidates = [round(t, DIGITS) for t in (scores[0] - 1.0, *middles, scores[-1] + 1.0)]
    return max(candidates, key=lambda threshold: Marks.at(threshold, translations).f1)


def save_threshold(directory: Path, threshold: float, measured: str) -> None:
    """Write `doubt.json`; `measured` says on which sentences."""
    values = {"threshold": threshold, "measured": measured}
    text = json.dumps(values, indent=2, ensure_ascii=False)
    atomic_write(directory / THRESHOLD_FILE, text + "\n")


def judge(
    translator: Translator, data: Path, beam_size: int
) -> tuple[list[Judged], list[Translation]]:
    """The translations of all sentences, with whether the checks mark them and they are right."""
    sentences = read_sentences(data)
    translator.doubt_threshold = NEVER  # so that every mark is one of the other checks
    options = DecodingOptions(beam_size=beam_size)
    sources = [sentence.source for sentence in sentences]
    found = [best[0] for best in translator.translate_detailed(sources, options, mark_doubt=True)]
    judged = [
        Judged(t.per_token, bool(t.doubt), score(sentence, t.text).correct)
        for sentence, t in zip(sentences, found, strict=True)
    ]
    return judged, found


def table(judged: Sequence[Judged], best: float) -> Iterator[str]:
    """The checks alone, the scores at every threshold, and both together."""
    yield f"{'marked by':30} {'marks':>6} {'hits':>6} {'precision':>10} {'recall':>8} {'F1':>7}"
    yield _row("copies, language, length limit", Marks.at(NEVER, judged))
    alone = [Judged(t.per_token, False, t.correct) for t in judged]
    yield _row(f"score below {best:.3f} alone", Marks.at(best, alone))
    for threshold in sorted([*THRESHOLDS, best]):
        mark = "   <- highest F1" if threshold == best else ""
        yield _row(f"all, score below {threshold:.3f}", Marks.at(threshold, judged)) + mark


def _row(name: str, marks: Marks) -> str:
    counts = f"{name:30} {marks.marked:6} {marks.hits:6}"
    return f"{counts} {marks.precision:10.1%} {marks.recall:8.1%} {marks.f1:7.3f}"


def listing(
    judged: Sequence[Judged], found: Sequence[Translation], threshold: float
) -> Iterator[str]:
    """Every translation that the marks get wrong."""
    for row, translation in zip(judged, found, strict=True):
        marked = row.marked_anyway or row.per_token < threshold
        if marked == row.correct:
            what = "false alarm" if marked else "not marked"
            reasons = "; ".join(translation.doubt or ())
            yield f"{what:11} {row.per_token:7.3f} {translation.text}  {reasons}"


def run(arguments: argparse.Namespace) -> None:
    """Translate, sweep, print, and write the threshold if asked."""
    directory = find_model(arguments.model)
    translator = Translator.from_pretrained(directory)
    stored = translator.doubt_threshold
    judged, found = judge(translator, arguments.data, arguments.beam_size)
    best = best_threshold(judged)
    if math.isinf(best):
        raise UserError(f"{arguments.data}: no translation is wrong; give harder sentences")
    if arguments.show:
        print(*listing(judged, found, best), "", sep="\n")
    correct = sum(row.correct for row in judged)
    setting = f"model {arguments.model or 'shipped'}, beam size {arguments.beam_size}"
    print(
        describe_machine(), f"{setting}, {correct} of {len(judged)} translations correct", sep="\n"
    )
    print(*table(judged, best), sep="\n")
    if arguments.write:
        measured = (
            f"{arguments.data.name}, {len(judged)} sentences, beam size {arguments.beam_size}"
        )
        save_threshold(directory, best, measured)
        print(f"threshold {stored:.3f} -> {best:.3f} in {directory.name}/doubt.json")


def main() -> None:
    """Read the command line; an error of the user is one line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", help="a model directory (default: the shipped model)")
    parser.add_argument("--beam-size", type=int, default=4)
    parser.add_argument("--data", type=Path, default=DATA, help="another set of the same form")
    parser.add_argument("--show", action="store_true", help="print what is marked wrongly")
    parser.add_argument("--write", action="store_true", help="store the threshold with the model")
    try:
        run(parser.parse_args())
    except UserError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
