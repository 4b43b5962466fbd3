"""Text to text: a model, its tokenizer, and the search between them."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, Self

from clearhead.decoding import DecodingOptions, Engine, Hypothesis, decode
from clearhead.decoding.ensemble import ensemble
from clearhead.decoding.forced import cross_attention
from clearhead.decoding.precision import Precision, fastest_precision, say_if_widened
from clearhead.errors import UserError
from clearhead.models import Transformer
from clearhead.text import BothLanguages
from clearhead.training.precision import choose_device
from clearhead.translation.alignment import word_links
from clearhead.translation.joining import Piece, join
from clearhead.translation.loading import like, load_translator
from clearhead.translation.location import find_model
from clearhead.translation.result import BLANK, Link, Translation
from clearhead.translation.sources import Reader, Source
from clearhead.translation.threads import use_threads

logger = logging.getLogger(__name__)


class Translator:
    """Translates texts of any length; what is blank stays blank and never meets the model.

        Translator.from_pretrained().translate(["A woman reads a book."])

    A text is translated sentence by sentence (`split_sentences`), and joined
    with the whitespace that stood between them; whitespace around it is dropped. A sentence in
    capitals is translated as it is usually written, and then set in capitals (`capitals`).
    `refuse_long` makes a sentence beyond the model's positions an error instead
    of cutting it. The word alignment of an ensemble is that of its first model.
    Warnings go to the logger `clearhead.translation`.
    """

    def __init__(
        self,
        model: Transformer,
        tokenizer: BothLanguages,
        split_sentences: bool = True,
        refuse_long: bool = False,
        precision: Precision = "float32",
        others: Sequence[Transformer] = (),
    ) -> None:
        most = min(model.config.src_vocab_size, model.config.tgt_vocab_size)
        if tokenizer.vocab_size > most:
            raise UserError(
                f"the tokenizer has {tokenizer.vocab_size} pieces and the model {most}; "
                "the two are of different models: copy the model directory again"
            )
        self.model, self.tokenizer = model.eval(), tokenizer
        self.precision, self.others = precision, [other.eval() for other in others]
        self.reader = Reader(tokenizer, model.config.src_seq_len, split_sentences, refuse_long)

    @classmethod
    def from_pretrained(
        cls,
        path: str | Path | None = None,
        device: str = "auto",
        threads: int | None = None,
        split_sentences: bool = True,
        refuse_long: bool = False,
        precision: Precision | Literal["auto"] = "float32",
        others: Sequence[str | Path] = (),
    ) -> Self:
        """Load a model directory, a run directory or a Marian; None means the shipped translator.

        A Marian (OPUS-MT) is a directory in the Hugging Face layout or a name on the hub.

        `precision` is the number format of the products: float32 gives the model's own
        translations, int8 nearly the same ones in a half to two thirds of the time, and auto the
        fastest that this processor multiplies natively. `others` are further models with the
        same tokenizer, whose probabilities count as much as the first's: an ensemble.

        Raises:
            UserError: there is no model, it is damaged, the device or precision is absent, or
                one of the others has another tokenizer.
        """
        use_threads(threads)
        target = choose_device(device)
        model, tokenizer = load_translator(find_model(path))
        more = [like(find_model(other), tokenizer).to(target) for other in others]
        if precision == "auto":
            precision, why = fastest_precision(target)
            logger.info("translating in %s", why)
        say_if_widened(precision, target)
        found = cls(model.to(target), tokenizer, split_sentences, refuse_long, precision, more)
        found.engine()  # what cannot be is said now
        return found

    def engine(self) -> Engine:
        """What searches write with: the model, or the mean of all of them."""
        return ensemble([Engine.of(one, self.precision) for one in (self.model, *self.others)])

    def translate(
        self,
        texts: Sequence[str],
        *,
        beam_size: int = 4,
        length_penalty: float = 1.0,
        no_repeat_ngram: int = 0,
        max_length: int | None = None,
        batch_tokens: int = 8192,
    ) -> list[str]:
        """The best translation of every text; see `DecodingOptions` for the choices."""
        options = DecodingOptions(
            beam_size=beam_size,
            length_penalty=length_penalty,
            no_repeat_ngram=no_repeat_ngram,
            max_length=max_length,
            batch_tokens=batch_tokens,
            scores=False,
        )
        return [best[0].text for best in self.translate_detailed(texts, options)]

    def translate_detailed(
        self,
        texts: Sequence[str],
        options: DecodingOptions | None = None,
        alignment_layer: int | None = None,
    ) -> list[list[Translation]]:
        """The n_best translations of every text, best first, with scores.

        With `alignment_layer` (say -2, the last but one) each carries its word
        alignment from that decoder layer; see `clearhead.translation.alignment`.
        """
        if isinstance(texts, str):
            raise UserError("translate takes a list of texts, got one str; write translate([text])")
        options = options or DecodingOptions()
        sources = self.reader.read(texts)
        found = decode(self.engine(), [source.ids for source in sources], options)
        _warn_of_limits(texts, sources, found)
        links = self._links(sources, found, alignment_layer)
        pieces: list[list[list[Piece]]] = [[] for _ in texts]
        for source, hypotheses, aligned in zip(sources, found, links, strict=True):
            pieces[source.text].append(
                [
                    Piece.of(source.span, self._text(source, hypothesis), hypothesis, own)
                    for hypothesis, own in zip(hypotheses, aligned, strict=True)
                ]
            )
        blank = BLANK if alignment_layer is None else replace(BLANK, alignment=())
        return [
            join(text, parts, options.n_best) if parts else [blank] * options.n_best
            for text, parts in zip(texts, pieces, strict=True)
        ]

    def _text(self, source: Source, hypothesis: Hypothesis) -> str:
        text = self.tokenizer.decode(hypothesis.ids)
        return text.upper() if source.capitals else text

    def _links(
        self, sources: list[Source], found: list[list[Hypothesis]], layer: int | None
    ) -> list[list[list[Link] | None]]:
        """The word alignment of every hypothesis, or None in its place if not asked for."""
        if layer is None:
            return [[None] * len(hypotheses) for hypotheses in found]
        pairs = [
            (source.ids, hypothesis.ids)
            for source, hypotheses in zip(sources, found, strict=True)
            for hypothesis in hypotheses
        ]
        attention = cross_attention(self.model, [s for s, _ in pairs], [t for _, t in pairs], layer)
        links = iter(
            word_links(self.tokenizer, source[:-1], target, matrix)
            for (source, target), matrix in zip(pairs, attention, strict=True)
        )
        return [[next(links) for _ in hypotheses] for hypotheses in found]


def _warn_of_limits(
    texts: Sequence[str], sources: list[Source], found: list[list[Hypothesis]]
) -> None:
    cut = [s for s, hypotheses in zip(sources, found, strict=True) if not hypotheses[0].finished]
    if cut:
        start, end = cut[0].span
        logger.warning(
            "%d of %d sentences reached the length limit before their end sign, the first %r; "
            "such a translation is cut or goes round in circles",
            len(cut),
            len(sources),
            texts[cut[0].text][start : min(end, start + 60)],
        )
