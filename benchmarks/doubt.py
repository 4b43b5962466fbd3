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
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.first_sentences import DATA, read_sentences, score
from clearhead import Translator
from clearhead.compare.timing import describe_machine
from clearhead.decoding import DecodingOptions
from clearhead.errors import UserError
from clearhead.translation import Translation
from clearhead.translation.doubt.threshold import Judged, Marks, best_threshold, save_threshold
from clearhead.translation.loading import find_model

THRESHOLDS = [-0.1 - 0.05 * step for step in range(15)]
NEVER = -math.inf


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
        save_threshold(directory, round(best, 3), measured)
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
