"""Text to text: a model, its tokenizer, and the search between them."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from clearhead.decoding.engine import DecodingOptions, Engine, Hypothesis
from clearhead.errors import DIFFERENT_MODELS, UserError
from clearhead.models.weight_files import SHIPPED
from clearhead.native.choice import AnyPrecision, EngineName, Request
from clearhead.text import BothLanguages
from clearhead.text.inputs import check_texts
from clearhead.text.model_files import ENGLISH_FRENCH, LANGUAGES, read_json
from clearhead.text.word_labels import Link, Weights, word_links
from clearhead.translation.layout import may_have_markup
from clearhead.translation.loading import (
    DEFAULT_THRESHOLD,
    Loaded,
    engine_for,
    find_model,
    load_engine,
    load_threshold,
)
from clearhead.translation.markup import MarkupRestorer, take_out
from clearhead.translation.result import (
    BLANK,
    OneForm,
    Piece,
    Translation,
    alignment_layer_of,
    join,
    layout_only,
    warn_of_limits,
)
from clearhead.translation.sources import Reader, Source

if TYPE_CHECKING:
    from clearhead.models import Transformer

WINDOW = 4096  # sentences that are decoded by one call

logger = logging.getLogger(__name__)


class Translator:
    """Translates texts of any length; a blank text stays blank and never reaches the model.

        Translator.from_pretrained().translate(["A woman reads a book."])

    A text is translated sentence by sentence (`split_sentences`), and joined with the whitespace
    and layout between them (list marks, borders of tables, tags of elements); whitespace around it
    is dropped, except the indentation of its first line and tabs at its end. A sentence in capitals
    is translated as it is usually written, and then set in capitals. `refuse_long` makes a sentence
    beyond the model's positions an error instead of cutting it. The word alignment of an ensemble
    is that of its first model. Warnings go to the logger `clearhead.translation`.

    `engine`: ``native`` translates in C, ``readable`` runs the block files, ``auto`` takes the
    native engine where it can compute the model. The native engine copies the weights when the
    translator is made. A given model stays in eval mode. `doubt_threshold` is the score per token
    below which a translation is doubtful (`clearhead.translation.doubt`); a model directory may
    hold its own. `languages` are those of the recipe: unless they are English and French, only the
    score and what is copied (URLs, codes) are reasons to doubt. With `check_copies` a sentence is
    searched for a second time if its translation lacks a name, number, URL, code or emoji, or if
    its text mixes *tu* and *vous* (`clearhead.translation.second_search`, `.result`); it is set for
    the shipped translator, and useful for others from English into French.
    """

    def __init__(
        self,
        model: "Transformer | None" = None,
        tokenizer: BothLanguages | None = None,
        split_sentences: bool = True,
        refuse_long: bool = False,
        precision: AnyPrecision = "float32",
        others: "Sequence[Transformer]" = (),
        engine: EngineName = "auto",
    ) -> None:
        if model is None or not hasattr(model, "eval") or tokenizer is None:
            raise UserError("give a model and a tokenizer, or use Translator.from_pretrained(PATH)")
        models = [model.eval(), *(other.eval() for other in others)]
        chosen = engine_for(model, Request(engine, "auto", precision), models[1:])
        self._set(Loaded(chosen, tokenizer, model.eval), split_sentences, refuse_long)

    def _set(self, loaded: Loaded, split_sentences: bool, refuse_long: bool) -> None:
        config, tokenizer = loaded.engine.config, loaded.tokenizer
        most = min(config.src_vocab_size, config.tgt_vocab_size)
        if tokenizer.vocab_size > most:
            raise UserError(
                f"the tokenizer has {tokenizer.vocab_size} tokens and the model {most}; "
                f"{DIFFERENT_MODELS}"
            )
        self.engine: Engine = loaded.engine
        self.tokenizer = tokenizer
        self._load_model: Callable[[], Transformer] = loaded.model
        self._model: Transformer | None = None
        self.doubt_threshold = DEFAULT_THRESHOLD
        self.check_copies = False
        self.languages: dict[str, Any] = dict(ENGLISH_FRENCH)
        self.reader = Reader(tokenizer, config.src_seq_len, split_sentences, refuse_long)

    @classmethod
    def from_pretrained(  # noqa: PLR0913 - each is an option of the command line
        cls,
        path: str | Path | None = None,
        device: str = "auto",
        threads: int | None = None,
        split_sentences: bool = True,
        refuse_long: bool = False,
        precision: AnyPrecision = "float32",
        others: Sequence[str | Path] = (),
        engine: EngineName = "auto",
    ) -> Self:
        """Load a model directory, a run directory or a Marian; None means the shipped translator.

        A Marian (OPUS-MT) is a directory in the Hugging Face layout or a name on the hub.
        `precision` is the number format of the computation: float32 gives the model's own
        translations, int8 (native engine) and bfloat16 (readable engine) nearly the same ones,
        and auto is the fastest on this processor. `others` are further models with the same
        tokenizer: an ensemble, which translates with the mean of their probabilities.

        Raises:
            UserError: there is no model, it is damaged, the device, precision or engine is not
                available, or one of the others has another tokenizer.
        """
        if isinstance(others, str | Path):
            raise UserError(f"others is a list of directories; give others=[{str(others)!r}]")
        request = Request(engine, device, precision, threads)
        directory = find_model(path)
        loaded = load_engine(directory, [find_model(other) for other in others], request)
        translator = cls.__new__(cls)
        translator._set(loaded, split_sentences, refuse_long)
        translator.doubt_threshold = load_threshold(directory)
        translator.languages = read_json(directory / LANGUAGES, ENGLISH_FRENCH)
        translator.check_copies = directory.resolve() == SHIPPED.resolve()
        return translator

    @property
    def model(self) -> "Transformer":
        """The model of torch modules; beside the native engine it is loaded at the first use."""
        if self._model is None:
            self._model = self._load_model()
        return self._model

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
        mark_doubt: bool = False,
    ) -> list[list[Translation]]:
        """The n_best translations of every text, best first, with scores.

        With `alignment_layer` (say -1, the last one) each carries its word
        alignment from that decoder layer; see `clearhead.translation.result`.
        With `mark_doubt` each carries the reasons to doubt it; see `clearhead.translation.doubt`.
        """
        texts = check_texts(texts)
        options = DecodingOptions() if options is None else options
        if not isinstance(options, DecodingOptions):
            raise UserError(f"options={options!r}; give DecodingOptions(beam_size=4), for example")
        options = replace(options, scores=options.scores or mark_doubt)
        marked = [take_out(text) for text in texts] if any(map(may_have_markup, texts)) else []
        plain = [text.plain for text in marked] or texts
        sources = self.reader.read(plain)
        found = self._decode(plain, sources, options)
        warn_of_limits(plain, sources, found)
        links = self._links(sources, found, alignment_layer)
        pieces: list[list[list[Piece]]] = [[] for _ in texts]
        for source, hypotheses, aligned in zip(sources, found, links, strict=True):
            pieces[source.text].append(
                [
                    Piece.of(source.span, self.reader.decode(source, one.ids), one, own)
                    for one, own in zip(hypotheses, aligned, strict=True)
                ]
            )
        blank = BLANK if alignment_layer is None else replace(BLANK, alignment=())
        if mark_doubt:
            blank, pieces = self._marked(blank, plain, pieces)
        if marked:
            layer = alignment_layer_of(self.engine.config.decoder_layers)
            restore = MarkupRestorer(self.tokenizer, layer, self._attention)
            pieces = restore(marked, sources, pieces)
        n = options.n_best
        return [
            join(text, parts, n) if parts else [layout_only(blank, text)] * n
            for text, parts in zip(texts, pieces, strict=True)
        ]

    def _decode(
        self, texts: Sequence[str], sources: list[Source], options: DecodingOptions
    ) -> list[list[Hypothesis]]:
        """Every source; of very many some at a time, with a line of progress after each part."""
        found: list[list[Hypothesis]] = []
        while len(found) < len(sources):
            start = len(found)
            own = [source.text for source in sources[start : start + WINDOW + 1]]
            # A text is cut only if it is longer: `OneForm` compares all of its sentences.
            whole = own.index(own[-1]) if len(own) > WINDOW else 0
            part = sources[start : start + (whole or WINDOW)]
            hypotheses = self.engine.decode([source.ids for source in part], options)
            if self.check_copies:
                from clearhead.translation.second_search import SecondSearch

                hypotheses = OneForm(self.engine, self.tokenizer, options)(part, hypotheses)
                second = SecondSearch(self.engine, self.reader, options)
                hypotheses = second(texts, part, hypotheses)
            found += hypotheses
            if len(sources) > WINDOW:
                logger.info("%d of %d sentences translated", len(found), len(sources))
        return found

    def _marked(
        self, blank: Translation, texts: Sequence[str], pieces: list[list[list[Piece]]]
    ) -> tuple[Translation, list[list[list[Piece]]]]:
        """The same pieces with their reasons for doubt."""
        from clearhead.translation.doubt.english import NO_WORDS
        from clearhead.translation.doubt.marker import DoubtMarker, LiteralMarker

        pair = [str(self.languages.get(side)).lower()[:2] for side in ENGLISH_FRENCH]
        # Or with a region: en-GB.
        marker = (DoubtMarker if pair == ["en", "fr"] else LiteralMarker)(self.doubt_threshold)
        marked = [
            [[piece.marked(text, marker) for piece in sentence] for sentence in parts]
            for text, parts in zip(texts, pieces, strict=True)
        ]
        return replace(blank, doubt=(NO_WORDS,)), marked

    def _links(
        self, sources: list[Source], found: list[list[Hypothesis]], layer: int | None
    ) -> list[list[list[Link] | None]]:
        """The word alignment of each hypothesis, or None if `layer` is None."""
        if layer is None:
            return [[None] * len(hypotheses) for hypotheses in found]
        pairs = [
            (source.ids, hypothesis.ids)
            for source, hypotheses in zip(sources, found, strict=True)
            for hypothesis in hypotheses
        ]
        attention = self._attention([s for s, _ in pairs], [t for _, t in pairs], layer)
        links = iter(
            word_links(self.tokenizer, source[:-1], target, matrix)
            for (source, target), matrix in zip(pairs, attention, strict=True)
        )
        return [[next(links) for _ in hypotheses] for hypotheses in found]

    def _attention(
        self, sources: list[list[int]], targets: list[list[int]], layer: int
    ) -> list[Weights]:
        """Cross-attention of a layer, (target tokens, source tokens) for each pair."""
        from clearhead.decoding.native import NativeEngine

        if isinstance(self.engine, NativeEngine):
            return self.engine.cross_attention(sources, targets, layer)
        from clearhead.decoding.forced import cross_attention

        found = cross_attention(self.model, sources, targets, layer)
        return [weights.cpu().numpy() for weights in found]
