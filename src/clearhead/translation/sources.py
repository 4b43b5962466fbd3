"""From texts to what the model reads: sentences of ids, each with its place."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from clearhead.errors import UserError
from clearhead.text import BothLanguages
from clearhead.translation.capitals import as_usual, in_capitals
from clearhead.translation.cutting import cut
from clearhead.translation.sentences import Span, sentence_spans

logger = logging.getLogger(__name__)


class Encoded(NamedTuple):
    """Ids with the end sign; `capitals` if the sentence stands in them and its ids do not."""

    ids: list[int]
    capitals: bool


@dataclass(frozen=True)
class Source:
    """A piece of a text: its place, and its ids with the end sign."""

    text: int  # number of the text
    span: Span
    ids: list[int]
    capitals: bool  # its translation is to be set in capitals


@dataclass(frozen=True)
class Reader:
    """Cuts texts into sentences that the model has positions for, and encodes them.

    `split_sentences=False` gives a whole text to the model at once. A sentence
    with more than `src_seq_len` tokens is cut further, with a warning, or, with
    `refuse_long`, refused. One in capitals is read as it is usually written (`capitals`), if
    that takes fewer pieces.
    """

    tokenizer: BothLanguages
    src_seq_len: int
    split_sentences: bool = True
    refuse_long: bool = False

    def read(self, texts: Sequence[str]) -> list[Source]:
        """The pieces of all texts in order; a blank text has none."""
        places = [(number, span) for number, text in enumerate(texts) for span in self._spans(text)]
        encoded = self._encode([texts[number][start:end] for number, (start, end) in places])
        sources = []
        for (number, span), (ids, capitals) in zip(places, encoded, strict=True):
            if len(ids) <= self.src_seq_len:
                sources.append(Source(number, span, ids, capitals))
            else:
                sources.extend(self._parts(number, texts[number], span, len(ids)))
        return sources

    def _spans(self, text: str) -> list[Span]:
        if self.split_sentences:
            return sentence_spans(text)
        start = len(text) - len(text.lstrip())
        end = len(text.rstrip())
        return [(start, end)] if start < end else []

    def _parts(self, number: int, text: str, span: Span, tokens: int) -> Iterator[Source]:
        opening = text[span[0] : span[0] + 40]
        size = f"the sentence {opening!r} … has {tokens} tokens, end sign included"
        if self.refuse_long:
            raise UserError(
                f"{size}, but this model has src_seq_len={self.src_seq_len} positions; "
                "shorten it or let it be split"
            )
        spans = cut(text, span, lambda part: len(self._encode([part])[0].ids) <= self.src_seq_len)
        logger.warning(
            "%s; the model has %d positions, so it is translated in %d parts",
            size,
            self.src_seq_len,
            len(spans),
        )
        for part, encoded in zip(spans, self._encode([text[s:e] for s, e in spans]), strict=True):
            yield Source(number, part, *encoded)

    def _encode(self, texts: list[str]) -> list[Encoded]:
        encode, end = self.tokenizer.encode_batch, self.tokenizer.eos_id
        rows = encode(texts)
        loud = [number for number, text in enumerate(texts) if in_capitals(text)]
        usual = encode([as_usual(texts[number], encode) for number in loud])
        shorter = {n: ids for n, ids in zip(loud, usual, strict=True) if len(ids) < len(rows[n])}
        return [Encoded([*shorter.get(n, ids), end], n in shorter) for n, ids in enumerate(rows)]
