"""A directory's model and its tokenizer, whichever of the two layouts they are written in."""

from pathlib import Path

from clearhead.errors import UserError
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


def like(directory: Path, tokenizer: BothLanguages) -> Transformer:
    """A further model of an ensemble.

    Raises:
        UserError: its pieces are not those of this tokenizer.
    """
    model, own = load_translator(directory)
    if _pieces(own) != _pieces(tokenizer):
        raise UserError(
            f"{directory} has another tokenizer than the first model; the models of an ensemble "
            "share one: train them on the same data with different seeds"
        )
    return model


def _pieces(tokenizer: BothLanguages) -> list[str]:
    return [tokenizer.piece(token) for token in range(tokenizer.vocab_size)]
