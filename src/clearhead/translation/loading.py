"""A directory's model and its tokenizer, whichever of the two layouts they are written in."""

from pathlib import Path

from clearhead.fast import accelerate
from clearhead.models import Transformer
from clearhead.models.marian import Marian
from clearhead.pretrained.together import load
from clearhead.text import BothLanguages, MarianLanguages, Tokenizer
from clearhead.text.model_files import read_json
from clearhead.text.sentencepiece_pair import SentencePiecePair


def load_translator(directory: Path) -> tuple[Transformer, BothLanguages]:
    """Ours, as `clearhead train` writes it, or a Marian, as the hub holds them (OPUS-MT).

    Raises:
        UserError: files are missing, broken, or do not belong together.
    """
    if read_json(directory / "config.json").get("model_type") != "marian":
        tokenizer = Tokenizer.load(directory)
        return accelerate(Transformer.from_pretrained(directory)), tokenizer
    marian, pair = load(directory)
    assert isinstance(marian, Marian) and isinstance(pair, SentencePiecePair)
    return marian, MarianLanguages(pair)
