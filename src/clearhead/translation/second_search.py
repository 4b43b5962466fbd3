"""A second search for a sentence whose translation lacks a name, a number, a URL, code or an emoji.

A model copies what it has seldom seen piece by piece, and sometimes fails. The check of
`--mark-doubt` finds such a translation; then the sentence is searched for again:

1. with a wider beam, of which the best hypothesis that lacks the fewest is taken;
2. with stand-ins: what is missing is replaced in the source by something of the same kind that is
   common in the training data (Tom for Kwabena, test.txt for a long file name), and in the
   translation it takes the place of its stand-in. A country, a people, a month or a day takes it in
   French, from the lexicon of the grammar (Canada for Zimbabwe, *italienne* for *rwandaise*).

A candidate is taken only if it lacks fewer than the translation before. So a translation that
lacks nothing never changes.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from clearhead.decoding.engine import DecodingOptions, Engine, Hypothesis, normalize
from clearhead.translation.doubt.dates import abbreviations, date_stand_ins, date_swaps, written_out
from clearhead.translation.doubt.exonyms import STAND_INS, exonyms, french_swaps
from clearhead.translation.doubt.marker import Literal, missing_copies, whole
from clearhead.translation.result import with_beams, with_first
from clearhead.translation.sources import Reader, Source

BEAMS = 8
ATTEMPTS = 3  # with other stand-ins each time
# Before a vowel French elides: d'Anna, de Tom. A stand-in begins like what it stands for.
_VOWELS = re.compile("[aeiouyhàâéèêîôû]", re.IGNORECASE)
_NAMES = {True: ("Anna", "Alice", "Emma", "Eric"), False: ("Tom", "Mary", "Paul", "Peter")}
_NUMBERS = {
    1: ("3", "5", "8", "4"),
    2: ("20", "12", "30", "50"),
    3: ("100", "200", "300", "500"),
    4: ("2010", "2005", "1990", "1980"),
}
_OTHERS = {
    "code": ("A1", "B2", "test", "x"),
    "URL": ("www.test.fr", "www.test.com", "https://test.fr", "https://www.test.com"),
    "e-mail address": ("tom@test.fr", "paul@test.com", "info@test.fr", "anna@test.org"),
    "hashtag": ("#test", "#Paris", "#science", "#music"),
    "path": ("/home", "/data", "/tmp", "/etc"),
    "file name": ("test.txt", "data.csv", "notes.txt", "report.pdf"),
    "identifier": ("test_1", "my_file", "max_value", "--test"),
    "emoji": ("😊", "😂", "🎉", "😀"),
}
_TIME = re.compile(r"(\d{1,2})(?:[:.](\d{2}))?\s*([ap])\.?m\.?", re.IGNORECASE)
_LETTERS = ("B", "C", "D", "X")
_HANDLES = ("@tom", "@paul", "@anna", "@mary")


@dataclass(frozen=True)
class Sentence:
    """A source sentence, the hypotheses found for it, and what the best of them lacks."""

    text: str
    source: Source
    hypotheses: list[Hypothesis]
    missing: list[Literal]


Search = Callable[[list[Sentence]], list[list[Hypothesis]]]


@dataclass(frozen=True)
class SecondSearch:
    """Called with sources and their hypotheses; returns these, or better ones."""

    engine: Engine
    reader: Reader
    options: DecodingOptions

    def __call__(
        self, texts: Sequence[str], sources: list[Source], found: list[list[Hypothesis]]
    ) -> list[list[Hypothesis]]:
        """The hypotheses of every source, best first."""
        best = list(found)
        faulty: dict[int, Sentence] = {}
        for number, (source, hypotheses) in enumerate(zip(sources, found, strict=True)):
            text = texts[source.text][slice(*source.span)]
            if missing := missing_copies(text, self.reader.decode(source, hypotheses[0].ids)):
                faulty[number] = Sentence(text, source, hypotheses, missing)
        searches: list[Search] = [self._wider]
        searches += [partial(self._with_stand_ins, attempt) for attempt in range(ATTEMPTS)]
        for search in searches:
            candidates = search(list(faulty.values())) if faulty else []
            for number, more in zip(list(faulty), candidates, strict=True):
                faulty[number] = self._better(faulty[number], more)
                best[number] = faulty[number].hypotheses
            faulty = {number: one for number, one in faulty.items() if one.missing}
        return best

    def _better(self, sentence: Sentence, candidates: list[Hypothesis]) -> Sentence:
        """With the candidate that lacks the fewest in front, if it lacks fewer than before."""
        texts = [self.reader.decode(sentence.source, h.ids) for h in candidates]
        lacks = [missing_copies(sentence.text, text) for text in texts]
        fewest = min(range(len(lacks)), key=lambda i: len(lacks[i]), default=None)
        if fewest is None or len(lacks[fewest]) >= len(sentence.missing):
            return sentence
        hypotheses = with_first(candidates[fewest], sentence.hypotheses)
        return replace(sentence, hypotheses=hypotheses, missing=lacks[fewest])

    @cached_property
    def _wide(self) -> DecodingOptions:
        return with_beams(self.options, BEAMS)

    def _wider(self, sentences: list[Sentence]) -> list[list[Hypothesis]]:
        return self.engine.decode([sentence.source.ids for sentence in sentences], self._wide)

    def _with_stand_ins(self, attempt: int, sentences: list[Sentence]) -> list[list[Hypothesis]]:
        pairs = [stand_ins(one.text, one.missing, attempt) for one in sentences]
        encoded = self.reader.encode(
            [swapped(one.text, own) for one, own in zip(sentences, pairs, strict=True)]
        )
        limit = self.engine.config.src_seq_len
        usable = [
            bool(own) and not one.source.capitals and len(e.ids) <= limit
            for one, own, e in zip(sentences, pairs, encoded, strict=True)
        ]
        ids = [e.ids for e, use in zip(encoded, usable, strict=True) if use]
        decoded = iter(self.engine.decode(ids, self._wide) if ids else [])
        return [
            list(self._restored(next(decoded), own)) if use else []
            for own, use in zip(pairs, usable, strict=True)
        ]

    def _restored(self, found: list[Hypothesis], pairs: "list[Swap]") -> Iterator[Hypothesis]:
        """The hypotheses that hold every stand-in, with the originals in their places.

        Their score per token is that of the translation with the stand-ins.
        """
        tokenizer = self.reader.tokenizer
        for hypothesis in found:
            text = restored(tokenizer.decode(hypothesis.ids), pairs)
            if text is None:
                continue
            ids = tokenizer.encode_target(text)
            if len(ids) < self.engine.config.tgt_seq_len and tokenizer.decode(ids) == text:
                score = hypothesis.per_token * (len(ids) + 1)
                normalized = normalize(score, len(ids) + 1, self.options.length_penalty)
                yield Hypothesis(ids, score, normalized, hypothesis.finished)


@dataclass(frozen=True)
class Swap:
    """What stands in a sentence, its stand-in, and how often it occurs there.

    `forms` are the stand-in's forms in French with the same forms of the original; without them
    it is the same in other words, and its translation stays.
    """

    original: str
    stand_in: str
    forms: tuple[tuple[str, str], ...]
    count: int


def stand_ins(text: str, missing: Sequence[Literal], attempt: int) -> list[Swap]:
    """A stand-in for each literal that has one, and does not occur in the text itself."""
    taken: list[Swap] = []
    for literal in dict.fromkeys(missing):
        used = {swap.stand_in for swap in taken}
        free = [s for s in _choices(literal) if s not in used and not whole(s).search(text)]
        count = len(whole(literal.text).findall(text))
        if free and count:
            stand_in = free[attempt % len(free)]
            forms = _forms(literal, stand_in)
            taken.append(Swap(literal.text, stand_in, forms, count if forms else 0))
    return taken


def _choices(literal: Literal) -> tuple[str, ...]:
    kind, text = literal
    if others := _in_other_words(text) or date_stand_ins(text):
        return others
    if text in exonyms():
        return STAND_INS.get(exonyms()[text].kind, ())
    if kind == "name" and len(text) == 1:
        return _LETTERS
    if kind == "name":
        return _HANDLES if text[0] == "@" else _NAMES[bool(_VOWELS.match(text))]
    if kind == "number":
        return _NUMBERS.get(len(text), ()) if text.isdecimal() else ()
    return _OTHERS.get(kind, ())


def _in_other_words(text: str) -> tuple[str, ...]:
    """9:31PM as 9:31 p.m., 9:31 pm and 21:31; Sept. as September; $2M as $2 million."""
    if longer := written_out(text):
        return (longer,)
    if text.rstrip(".") in abbreviations():
        return (abbreviations()[text.rstrip(".")],)
    time = _TIME.fullmatch(text)
    if not time:
        return ()
    hour, minute, half = time[1], time[2] or "00", time[3].lower()
    full = int(hour) % 12 + (12 if half == "p" else 0)
    return f"{hour}:{minute} {half}.m.", f"{hour}:{minute} {half}m", f"{full}:{minute}"


def _forms(literal: Literal, stand_in: str) -> tuple[tuple[str, str], ...]:
    if _in_other_words(literal.text):
        return ()
    if date_stand_ins(literal.text):
        return tuple(date_swaps(stand_in, literal.text))
    if literal.text in exonyms():
        return tuple(french_swaps(stand_in, literal.text))
    return ((stand_in, literal.text),)


def swapped(text: str, swaps: Sequence[Swap]) -> str:
    """The sentence with stand-ins."""
    for swap in swaps:
        text = swap.stand_in.join(whole(swap.original).split(text))
    return text


def restored(translation: str, swaps: Sequence[Swap]) -> str | None:
    """The translation with the originals; None if a stand-in is not there as often as before."""
    for swap in swaps:
        count = 0
        for stand_in, original in swap.forms:
            parts = whole(stand_in).split(translation)
            count += len(parts) - 1
            translation = original.join(parts)
        if count != swap.count:
            return None
    return translation
