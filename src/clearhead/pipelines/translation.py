"""Translation behind the interface of `transformers.pipeline`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from clearhead.decoding import DecodingOptions
from clearhead.decoding.engine import check_whole
from clearhead.errors import UserError
from clearhead.native.choice import EngineName
from clearhead.pipelines.factory import known_arguments
from clearhead.text.inputs import texts_of
from clearhead.translation.translator import Translator


class TranslationPipeline:
    """Called with a text or a list of texts; returns dictionaries with `translation_text`."""

    def __init__(self, translator: Translator) -> None:
        self.translator = translator

    @classmethod
    def from_pretrained(
        cls,
        model: str | Path | Translator | None = None,
        device: str = "auto",
        threads: int | None = None,
        engine: EngineName = "auto",
    ) -> Self:
        """A directory, a translator that is loaded already, or None for the shipped one.

        Raises:
            UserError: what `Translator.from_pretrained` raises.
        """
        if not isinstance(model, Translator):
            model = Translator.from_pretrained(model, device, threads, engine=engine)
        return cls(model)

    @known_arguments
    def __call__(  # noqa: PLR0913 - the interface of transformers
        self,
        inputs: str | Sequence[str],
        *,
        num_beams: int = 4,
        num_return_sequences: int = 1,
        max_new_tokens: int | None = None,
        length_penalty: float = 1.0,
        no_repeat_ngram_size: int = 0,
        early_stopping: bool = False,
        max_length: int | None = None,
    ) -> list[Any]:
        """One text gives a list of its translations; several texts a list with one entry each.

        That entry is the translation itself, or the list of `num_return_sequences` translations
        where more than one is requested. `max_new_tokens` counts the EOS token; `max_length`
        counts the BOS token as well, as in `transformers`.

        Raises:
            UserError: a number outside its range, an unknown argument, an input that is no text.
        """
        check_whole("num_beams", num_beams, 1)
        check_whole("num_return_sequences", num_return_sequences, 1)
        check_whole("no_repeat_ngram_size", no_repeat_ngram_size, 0)
        if max_new_tokens is not None:
            check_whole("max_new_tokens", max_new_tokens, 2, ": a token and the EOS token")
        if max_length is not None:
            check_whole("max_length", max_length, 3, ": the BOS token, a token, the EOS token")
        if max_length is not None and max_new_tokens is not None:
            raise UserError("max_length and max_new_tokens are both given; give one of them")
        if num_return_sequences > num_beams:
            raise UserError(
                f"num_return_sequences={num_return_sequences} is more than num_beams={num_beams}; "
                "a search finds at most as many translations as it has beams"
            )
        most = max_new_tokens if max_length is None else max_length - 1
        options = DecodingOptions(
            beam_size=num_beams,
            length_penalty=length_penalty,
            n_best=num_return_sequences,
            no_repeat_ngram=no_repeat_ngram_size,
            max_length=most,
            early_stopping=early_stopping,
        )
        texts = texts_of(inputs)
        found = self.translator.translate_detailed(texts, options)
        answers = [[{"translation_text": t.text} for t in best] for best in found]
        if isinstance(inputs, str):
            return answers[0]
        return [best[0] for best in answers] if num_return_sequences == 1 else answers
