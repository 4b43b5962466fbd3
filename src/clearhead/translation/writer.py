"""A stream of texts becomes a stream of lines in a chosen format."""

from clearhead.decoding import DecodingOptions
from clearhead.translation.formats import FORMATS, Shown
from clearhead.translation.translator import Translator


class Writer:
    """Called with one list of texts after the other; counts them from 0 through all the lists."""

    def __init__(
        self,
        translator: Translator,
        options: DecodingOptions,
        format: str = "text",
        shown: Shown | None = None,
        alignment_layer: int | None = None,
    ) -> None:
        self.translator, self.options = translator, options
        self.format, self.shown = FORMATS[format], shown or Shown()
        if alignment_layer is None:
            alignment_layer = max(-2, -translator.model.config.decoder_layers)
        self.layer = alignment_layer if self.shown.alignments else None
        self.number = 0

    def __call__(self, texts: list[str]) -> bytes:
        """The lines for these texts, in UTF-8, each with its end."""
        found = self.translator.translate_detailed(texts, self.options, self.layer)
        lines = [
            line
            for number, (text, best) in enumerate(zip(texts, found, strict=True), self.number)
            for line in self.format(number, text, best, self.shown)
        ]
        self.number += len(texts)
        # Half a surrogate pair in a source has no UTF-8; in JSON its escape is what is meant.
        return "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")
