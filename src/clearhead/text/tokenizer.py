"""Text to ids and back, without loss: byte-pair encoding over one joint vocabulary.

Words are cut into the pieces that occur most often (Sennrich et al. 2016); what
no piece covers is spelled out in its UTF-8 bytes, so there is no unknown token
and any Unicode text comes back as it was (in NFC form).
"""

import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Self

import tokenizers
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers

from clearhead.errors import UserError
from clearhead.files import atomic_write
from clearhead.text.pieces import ids_of, piece_of, without_lone_surrogates

SPECIALS = ("<pad>", "<s>", "</s>")
_BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))
# Pieces never cross these borders. A space belongs to the word after it; the
# no-break spaces of French to the ? ! : ; » after them; an elision keeps its apostrophe.
_BORDERS = r" ?\p{L}[\p{L}\p{M}]*['’]?| ?\p{N}+|[ \u00A0\u202F]?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s"
# Where a letter and an apostrophe meet the next word. A space that stands there already is
# followed by another, so that the way back is unique.
_ELIDED = Regex(r"(?<=\p{L}['’])(?=[\p{L} ])")
_ELISION_AND_SPACE = Regex(r"(?<=\p{L}['’]) (?=[\p{L} ])")
# A character seen fewer times than the most common 400 is left to the bytes.
_ALPHABET = 400


class Tokenizer:
    """Byte-fallback BPE; `pad_id`, `bos_id` and `eos_id` never come out of text."""

    pad_id, bos_id, eos_id = 0, 1, 2

    def __init__(self, engine: tokenizers.Tokenizer) -> None:
        self._engine = engine

    @classmethod
    def train(cls, lines: Iterable[str], vocab_size: int) -> Self:
        """Learn `vocab_size` pieces from text in both languages (fewer if it is short).

        The same lines give the same vocabulary, in any process. They are read twice:
        a generator, which can be read once, is held in memory.
        """
        room = vocab_size - len(SPECIALS) - len(_BYTES)
        if room < 1:
            raise UserError(
                f"vocab_size={vocab_size} is too small; the {len(SPECIALS)} signs and "
                f"{len(_BYTES)} bytes alone need {vocab_size - room}: give at least 300"
            )
        lines = list(lines) if isinstance(lines, Iterator) else lines
        # Half of a small vocabulary is left for pieces longer than a character.
        alphabet = _common_characters(lines)[: max(1, min(_ALPHABET, room // 2))]
        trainer = trainers.BpeTrainer(
            vocab_size=room,
            min_frequency=2,
            initial_alphabet=alphabet,
            limit_alphabet=len(alphabet),
            show_progress=False,
        )
        learner = engine_around(models.BPE())
        learner.train_from_iterator(map(without_lone_surrogates, lines), trainer)
        learned = json.loads(learner.to_str())["model"]
        pieces = sorted(learned["vocab"], key=learned["vocab"].__getitem__)
        vocab = {piece: number for number, piece in enumerate((*SPECIALS, *_BYTES, *pieces))}
        merges = [(left, right) for left, right in learned["merges"]]
        return cls(engine_around(models.BPE(vocab, merges, byte_fallback=True)))

    @property
    def vocab_size(self) -> int:
        """How many ids there are, signs and bytes included."""
        return self._engine.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        """Ids of a text, without begin or end sign."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of many texts at once (in parallel, in compiled code)."""
        return ids_of(self._engine, texts)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of these ids; signs are left out."""
        return self._engine.decode([i for i in ids if i >= len(SPECIALS)])

    def encode_target(self, text: str) -> list[int]:
        """The same: both languages share the pieces."""
        return self.encode(text)

    def decode_source(self, ids: Sequence[int]) -> str:
        """The same: both languages share the pieces."""
        return self.decode(ids)

    def decode_batch(self, batch: Sequence[Sequence[int]]) -> list[str]:
        """The texts of many id sequences."""
        return [self.decode(ids) for ids in batch]

    def pieces(self, text: str) -> list[tuple[str, tuple[int, int]]]:
        """Every piece with its (start, end) characters in the text: what a picture labels."""
        encoding = self._engine.encode(without_lone_surrogates(text))
        return list(zip(encoding.tokens, encoding.offsets, strict=True))

    def piece(self, token_id: int) -> str:
        """How one id is written in the vocabulary."""
        return piece_of(self._engine, token_id)

    def to_json(self) -> str:
        """The tokenizer as Hugging Face `tokenizers` writes it."""
        return self._engine.to_str(pretty=True)

    def save(self, directory: str | Path) -> None:
        """Write tokenizer.json, the file that Hugging Face `tokenizers` reads."""
        atomic_write(Path(directory) / "tokenizer.json", self.to_json() + "\n")

    @classmethod
    def load(cls, directory: str | Path) -> Self:
        """Read tokenizer.json from a model directory."""
        path = Path(directory) / "tokenizer.json"
        try:
            engine = tokenizers.Tokenizer.from_str(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise UserError(
                f"cannot read {path}: {error.strerror}; a model directory holds config.json, "
                "model.safetensors and tokenizer.json"
            ) from error
        except Exception as error:  # the library raises bare Exception
            raise UserError(
                f"{path} is not a tokenizer file ({error}); copy the model again"
            ) from error
        expected = list(range(len(SPECIALS)))
        if [engine.token_to_id(sign) for sign in SPECIALS] != expected:
            raise UserError(
                f"{path} does not begin with {', '.join(SPECIALS)}; it belongs to another model"
            )
        return cls(engine)


def engine_around(model: models.Model) -> tokenizers.Tokenizer:
    """Normalization, borders and decoding of this project around any model of pieces."""
    engine = tokenizers.Tokenizer(model)
    # A space before the first word and after an elision, so that "Tom" and the "oncle" of
    # "l'oncle" are the pieces that they are elsewhere; what follows undoes both.
    engine.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Prepend(" "), normalizers.Replace(_ELIDED, " ")]
    )
    engine.pre_tokenizer = pre_tokenizers.Split(Regex(_BORDERS), behavior="isolated")
    engine.decoder = decoders.Sequence(
        [
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
            decoders.Replace(_ELISION_AND_SPACE, ""),
        ]
    )
    return engine


def _common_characters(lines: Iterable[str]) -> list[str]:
    # Counted here because the trainer breaks ties between rare characters at random.
    counts = Counter(" ")
    for line in lines:
        counts.update(unicodedata.normalize("NFC", without_lone_surrogates(line)))
    return sorted(counts, key=lambda character: (-counts[character], character))
