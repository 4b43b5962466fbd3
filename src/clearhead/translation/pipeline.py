"""The call that users of Hugging Face transformers know, in its shape."""

from collections.abc import Sequence
from pathlib import Path
from typing import Self, overload

from clearhead.decoding import DecodingOptions
from clearhead.translation.translator import Translator

Answer = dict[str, str]


class TranslationPipeline:
    """Called with a text or a list of texts; answers dictionaries with `translation_text`."""

    def __init__(self, translator: Translator) -> None:
        self.translator = translator

    @classmethod
    def from_pretrained(
        cls,
        model: str | Path | Translator | None = None,
        device: str = "auto",
        threads: int | None = None,
    ) -> Self:
        """A directory, a translator that is loaded already, or None for the shipped one.

        Raises:
            UserError: what `Translator.from_pretrained` raises.
        """
        if not isinstance(model, Translator):
            model = Translator.from_pretrained(model, device, threads)
        return cls(model)

    @overload
    def __call__(self, inputs: str) -> list[Answer]: ...
    @overload
    def __call__(
        self,
        inputs: str | Sequence[str],
        *,
        num_beams: int = ...,
        num_return_sequences: int = ...,
        max_new_tokens: int | None = ...,
        length_penalty: float = ...,
        no_repeat_ngram_size: int = ...,
        early_stopping: bool = ...,
    ) -> list[Answer] | list[list[Answer]]: ...
    def __call__(
        self,
        inputs: str | Sequence[str],
        *,
        num_beams: int = 4,
        num_return_sequences: int = 1,
        max_new_tokens: int | None = None,
        length_penalty: float = 1.0,
        no_repeat_ngram_size: int = 0,
        early_stopping: bool = False,
    ) -> list[Answer] | list[list[Answer]]:
        """One text gives a list of its answers; several texts a list with one entry each.

        That entry is the answer itself, or the list of `num_return_sequences` answers
        where more than one is asked for. `max_new_tokens` counts the end sign.
        """
        options = DecodingOptions(
            beam_size=num_beams,
            length_penalty=length_penalty,
            n_best=num_return_sequences,
            no_repeat_ngram=no_repeat_ngram_size,
            max_length=max_new_tokens,
            early_stopping=early_stopping,
        )
        texts = [inputs] if isinstance(inputs, str) else list(inputs)
        found = self.translator.translate_detailed(texts, options)
        answers = [[{"translation_text": t.text} for t in best] for best in found]
        if isinstance(inputs, str):
            return answers[0]
        return [best[0] for best in answers] if num_return_sequences == 1 else answers
