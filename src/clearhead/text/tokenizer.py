"""Text to ids and back, without loss: byte-pair encoding over one joint vocabulary.

Words are split into the most frequent pieces (Sennrich et al. 2016); a character that no piece
covers is encoded as its UTF-8 bytes, so there is no unknown token, and decoding restores any
Unicode text (in NFC form). `EngineTokenizer` is shared with pretrained tokenizers.
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
from clearhead.text.inputs import without_lone_surrogates
from clearhead.text.model_files import read_engine

SPECIALS = ("<pad>", "<s>", "</s>")
_BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))
# Pieces never cross these boundaries. A space belongs to the word after it; the no-break spaces of
# French to the ? ! : ; » after them; an elision keeps its apostrophe. Each digit is a piece of its
# own: 1987 and 408 are copied, and reordered, digit by digit.
_BOUNDARIES = r" ?\p{L}[\p{L}\p{M}]*['’]?| ?\p{N}|[ \u00A0\u202F]?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s"
# The boundary between an elision and the next word. If a space is there, another is inserted, so
# that decoding is unambiguous.
_ELIDED = Regex(r"(?<=\p{L}['’])(?=[\p{L} ])")
_ELISION_AND_SPACE = Regex(r"(?<=\p{L}['’]) (?=[\p{L} ])")
# Characters that are rarer than the 400 most frequent ones are encoded as bytes.
_ALPHABET = 400


class EngineTokenizer:
    """A tokenizer that an engine of `tokenizers` runs, in compiled code.

    Args:
        engine: normalization, pre-tokenization, model, post-processing and decoding.
    """

    def __init__(self, engine: tokenizers.Tokenizer) -> None:
        self._engine = engine

    @property
    def vocab_size(self) -> int:
        """The number of ids, special tokens included."""
        return self._engine.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        """Ids of a text."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of many texts, computed in parallel.

        Raises:
            UserError: this is one text, or one of them is no text.
        """
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise UserError("encode takes one text (str), encode_batch a list of texts")
        sound = [without_lone_surrogates(text) for text in texts]
        return [encoding.ids for encoding in self._engine.encode_batch_fast(sound)]

    def piece(self, token_id: int) -> str:
        """The token with this id, as the vocabulary spells it.

        Raises:
            UserError: the vocabulary has no such id.
        """
        piece = self._engine.id_to_token(token_id) if token_id >= 0 else None
        if piece is None:
            size = self._engine.get_vocab_size()
            raise UserError(
                f"token id {token_id} is outside the vocabulary of {size} tokens "
                f"(0 to {size - 1}); use the tokenizer that belongs to this model"
            )
        return piece

    def to_json(self) -> str:
        """The content of tokenizer.json, which Hugging Face `tokenizers` reads."""
        return self._engine.to_str(pretty=True)


def common_characters(texts: Iterable[str], initial: str = "") -> list[str]:
    """The characters of all texts and of `initial`, the most frequent first.

    A learned tokenizer gets its alphabet from here, because the trainers of `tokenizers` break
    ties between rare characters at random.
    """
    counts = Counter(initial)
    for text in texts:
        counts.update(unicodedata.normalize("NFC", without_lone_surrogates(text)))
    return sorted(counts, key=lambda character: (-counts[character], character))


class Tokenizer(EngineTokenizer):
    """Byte-fallback BPE; encoding a text never returns `pad_id`, `bos_id` or `eos_id`.

    Both languages share the vocabulary, so source and target are encoded alike.
    """

    pad_id, bos_id, eos_id = 0, 1, 2

    @classmethod
    def train(cls, lines: Iterable[str], vocab_size: int) -> Self:
        """Learn a vocabulary of `vocab_size` tokens from text in both languages (fewer if short).

        The same lines give the same vocabulary, in any process. They are read twice; an iterator,
        which can be read only once, is kept in memory.

        Raises:
            UserError: `vocab_size` leaves no room for pieces, or `lines` is one text.
        """
        if isinstance(lines, str):
            raise UserError("train takes lines of text, not one str; give text.splitlines()")
        room = vocab_size - len(SPECIALS) - len(_BYTES)
        if room < 1:
            raise UserError(
                f"vocab_size={vocab_size} is too small; the {len(SPECIALS)} special tokens and "
                f"{len(_BYTES)} bytes alone need {vocab_size - room}: give at least 300"
            )
        lines = list(lines) if isinstance(lines, Iterator) else lines
        # Half of a small vocabulary is left for pieces longer than a character.
        alphabet = common_characters(lines, " ")[: max(1, min(_ALPHABET, room // 2))]
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

    def decode(self, ids: Sequence[int]) -> str:
        """The text of these ids; special tokens are dropped."""
        return self._engine.decode([i for i in ids if i >= len(SPECIALS)])

    def encode_target(self, text: str) -> list[int]:
        """As `encode`."""
        return self.encode(text)

    def decode_source(self, ids: Sequence[int]) -> str:
        """As `decode`."""
        return self.decode(ids)

    def decode_batch(self, batch: Sequence[Sequence[int]]) -> list[str]:
        """The texts of many id sequences."""
        return [self.decode(ids) for ids in batch]

    def pieces(self, text: str) -> list[tuple[str, tuple[int, int]]]:
        """Each piece with its (start, end) positions in the text, for the labels of plots."""
        encoding = self._engine.encode(without_lone_surrogates(text))
        return list(zip(encoding.tokens, encoding.offsets, strict=True))

    def same_boundaries(self, model: models.Model) -> tokenizers.Tokenizer:
        """An engine with another model and the word boundaries of this tokenizer."""
        engine = engine_around(model)
        engine.pre_tokenizer = self._engine.pre_tokenizer  # an old file may have other boundaries
        return engine

    def save(self, directory: str | Path) -> None:
        """Write tokenizer.json."""
        atomic_write(Path(directory) / "tokenizer.json", self.to_json() + "\n")

    @classmethod
    def load(cls, directory: str | Path) -> Self:
        """Read tokenizer.json from a model directory.

        Raises:
            UserError: the file is missing, damaged, or belongs to another model.
        """
        engine = read_engine(Path(directory))
        expected = list(range(len(SPECIALS)))
        if [engine.token_to_id(token) for token in SPECIALS] != expected:
            raise UserError(
                f"{directory}/tokenizer.json does not begin with {', '.join(SPECIALS)}; "
                "it belongs to another model"
            )
        return cls(engine)


def engine_around(model: models.Model) -> tokenizers.Tokenizer:
    """An engine with this project's normalization, word boundaries and decoding, and any model."""
    engine = tokenizers.Tokenizer(model)
    # A space before the first word and after an elision, so that "Tom" and the "oncle" of
    # "l'oncle" have the same pieces as elsewhere; the decoder removes both.
    engine.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Prepend(" "), normalizers.Replace(_ELIDED, " ")]
    )
    engine.pre_tokenizer = pre_tokenizers.Split(Regex(_BOUNDARIES), behavior="isolated")
    engine.decoder = decoders.Sequence(
        [
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
            decoders.Replace(_ELISION_AND_SPACE, ""),
        ]
    )
    return engine
