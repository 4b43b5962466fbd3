"""Tokenizers of pretrained models that Hugging Face `tokenizers` runs: BERT's and GPT-2's."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import tokenizers
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers
from tokenizers.processors import TemplateProcessing

from clearhead.errors import UserError
from clearhead.files import atomic_write
from clearhead.text.model_files import read_json, read_lines, signs_of
from clearhead.text.pieces import Place, ids_of, piece_of, without_lone_surrogates

BERT_SIGNS = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
GPT_SIGNS = {"bos": "<|endoftext|>", "eos": "<|endoftext|>", "unk": "<|endoftext|>"}


class FastTokenizer:
    """Text to ids with the signs that the model was trained with, and back.

    `signs` holds the id of each sign by its role: pad, unk, cls, sep, mask, bos, eos.
    """

    def __init__(self, engine: tokenizers.Tokenizer, signs: Mapping[str, str]) -> None:
        # A file may ask to cut and to fill up; we never cut in silence, and fill up ourselves.
        engine.no_truncation()
        engine.no_padding()
        self._engine, self._names = engine, dict(signs)
        found = {role: engine.token_to_id(sign) for role, sign in signs.items()}
        self.signs = {role: number for role, number in found.items() if number is not None}

    @property
    def vocab_size(self) -> int:
        """How many ids there are, signs included."""
        return self._engine.get_vocab_size()

    def encode(self, text: str) -> list[int]:
        """Ids of a text, between the signs of its model, if it has any."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of many texts at once (in parallel, in compiled code)."""
        return ids_of(self._engine, texts)

    def encode_pair(self, text: str, other: str) -> tuple[list[int], list[int]]:
        """Ids of two texts in one sequence, and of which text (0 or 1) each token is."""
        first, second = without_lone_surrogates(text), without_lone_surrogates(other)
        found = self._engine.encode(first, second)
        return found.ids, found.type_ids

    def encode_words(self, words: Sequence[str]) -> tuple[list[int], list[int | None]]:
        """Ids of a text that is cut into words, and of which word each is (None: of a sign)."""
        sound = [without_lone_surrogates(word) for word in words]
        found = self._engine.encode(sound, is_pretokenized=True)
        return found.ids, found.word_ids

    def encode_places(self, text: str) -> tuple[list[int], list[Place | None]]:
        """Ids of a text, and where in it each stands (None: a sign that is not in the text)."""
        found = self._engine.encode(without_lone_surrogates(text))
        places = [
            None if word is None or outside else Place(*span, word)
            for span, word, outside in zip(
                found.offsets, found.word_ids, found.special_tokens_mask, strict=True
            )
        ]
        return found.ids, places

    def decode(self, ids: Sequence[int]) -> str:
        """The text of these ids; signs are left out."""
        return self._engine.decode(list(ids), skip_special_tokens=True)

    def piece(self, token_id: int) -> str:
        """How one id is written in the vocabulary."""
        return piece_of(self._engine, token_id)

    def save(self, directory: str | Path) -> None:
        """Write tokenizer.json, and tokenizer_config.json with the names of the signs."""
        names = {f"{role}_token": sign for role, sign in self._names.items()}
        settings = {"tokenizer_class": "PreTrainedTokenizerFast"} | names
        atomic_write(Path(directory) / "tokenizer.json", self._engine.to_str(pretty=True) + "\n")
        atomic_write(
            Path(directory) / "tokenizer_config.json", json.dumps(settings, indent=2) + "\n"
        )

    @classmethod
    def wordpiece(cls, directory: Path) -> Self:
        """BERT's: from tokenizer.json, or from vocab.txt as BERT read it."""
        signs = signs_of(directory, BERT_SIGNS)
        if (directory / "tokenizer.json").exists():
            return cls(_read_engine(directory), signs)
        path = directory / "vocab.txt"
        vocabulary = {piece: number for number, piece in enumerate(read_lines(path))}
        if lost := [signs[role] for role in ("unk", "cls", "sep") if signs[role] not in vocabulary]:
            raise UserError(f"{path} lacks {', '.join(lost)}; it belongs to another model")
        engine = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token=signs["unk"]))
        settings = read_json(directory / "tokenizer_config.json", {})
        engine.normalizer = normalizers.BertNormalizer(
            handle_chinese_chars=settings.get("tokenize_chinese_chars", True),
            strip_accents=settings.get("strip_accents"),
            lowercase=settings.get("do_lower_case", True),
        )
        engine.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        engine.decoder = decoders.WordPiece()
        first, last = signs["cls"], signs["sep"]
        engine.post_processor = TemplateProcessing(
            single=f"{first} $A {last}",
            pair=f"{first} $A {last} $B:1 {last}:1",
            special_tokens=[(sign, vocabulary[sign]) for sign in (first, last)],
        )
        engine.add_special_tokens([s for s in dict.fromkeys(signs.values()) if s in vocabulary])
        return cls(engine, signs)

    @classmethod
    def byte_level(cls, directory: Path) -> Self:
        """GPT-2's: from tokenizer.json, or from vocab.json and merges.txt as GPT-2 read them."""
        signs = signs_of(directory, GPT_SIGNS)
        if (directory / "tokenizer.json").exists():
            return cls(_read_engine(directory), signs)
        vocabulary = read_json(directory / "vocab.json")
        lines = read_lines(directory / "merges.txt")
        pairs = [line.partition(" ") for line in lines if line and not line.startswith("#version")]
        merges = [(left, right) for left, _, right in pairs]
        try:
            engine = tokenizers.Tokenizer(models.BPE(vocabulary, merges))
        except Exception as error:  # the library raises bare Exception
            raise UserError(
                f"{directory}: vocab.json and merges.txt do not belong together ({error}); "
                "copy the model again"
            ) from error
        settings = read_json(directory / "tokenizer_config.json", {})
        spaced = settings.get("add_prefix_space", False)
        engine.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=spaced)
        engine.decoder = decoders.ByteLevel()
        engine.add_special_tokens(
            [AddedToken(s, special=True) for s in dict.fromkeys(signs.values()) if s in vocabulary]
        )
        return cls(engine, signs)


def _read_engine(directory: Path) -> tokenizers.Tokenizer:
    path = directory / "tokenizer.json"
    try:
        return tokenizers.Tokenizer.from_str(path.read_text(encoding="utf-8"))
    except Exception as error:  # the library raises bare Exception
        raise UserError(
            f"{path} is not a tokenizer file ({error}); copy the model again"
        ) from error
