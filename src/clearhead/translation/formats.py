"""How translations are written down, a list of lines for each text."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from clearhead.translation.result import Translation


@dataclass(frozen=True)
class Shown:
    """What is written beside the text."""

    scores: bool = False
    alignments: bool = False


def as_text(number: int, source: str, best: list[Translation], shown: Shown) -> list[str]:
    """The translations, one a line: `score TAB translation ||| 0-0 1-2`."""
    return [
        (f"{t.score:.4f}\t" if shown.scores else "")
        + t.text
        + (f" ||| {pharaoh(t)}" if shown.alignments else "")
        for t in best
    ]


def as_moses(number: int, source: str, best: list[Translation], shown: Shown) -> list[str]:
    """The n-best list of Moses: `0 ||| translation ||| Score= -1.5 ||| -0.25 [||| 0-0 1-2]`.

    The first number counts texts from 0, the second is the score, the last but
    alignments what translations were ranked by. Always with scores, that is the format.
    """
    return [
        f"{number} ||| {_one_line(t.text)} ||| Score= {t.score:.4f} ||| {t.normalized:.4f}"
        + (f" ||| {pharaoh(t)}" if shown.alignments else "")
        for t in best
    ]


def as_jsonl(number: int, source: str, best: list[Translation], shown: Shown) -> list[str]:
    """One JSON object a text: source, translation, and all of the n-best with what was asked."""
    record = {
        "id": number,
        "source": source,
        "translation": best[0].text,
        "translations": [_entry(t, shown) for t in best],
    }
    return [json.dumps(record, ensure_ascii=False)]


def pharaoh(translation: Translation) -> str:
    """Word links as `0-0 1-2`: source word, target word, from 0."""
    return " ".join(f"{source}-{target}" for source, target in translation.alignment or ())


def _entry(translation: Translation, shown: Shown) -> dict[str, object]:
    entry: dict[str, object] = {"text": translation.text, "finished": translation.finished}
    if shown.scores:
        entry |= {"score": translation.score, "normalized": translation.normalized}
    if shown.alignments:
        entry["alignment"] = pharaoh(translation)
    return entry


def _one_line(text: str) -> str:
    return " ".join(text.split("\n"))


Format = Callable[[int, str, list[Translation], Shown], list[str]]
FORMATS: dict[str, Format] = {"text": as_text, "jsonl": as_jsonl, "moses": as_moses}
