"""Tokenizers of pretrained models that Hugging Face `tokenizers` runs: BERT's and GPT-2's."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers
from tokenizers.processors import TemplateProcessing

from clearhead.errors import UserError
from clearhead.files import atomic_write
from clearhead.text.inputs import without_lone_surrogates
from clearhead.text.model_files import read_engine, read_json, read_lines, special_tokens_of
from clearhead.text.tokenizer import EngineTokenizer
from clearhead.text.word_labels import Place

BERT_SPECIAL = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
GPT_SPECIAL = {"bos": "<|endoftext|>", "eos": "<|endoftext|>", "unk": "<|endoftext|>"}


def kept_of_pair(segments: Sequence[int], limit: int) -> list[int]:
    """Which tokens of [CLS] A [SEP] B [SEP] stay: the longer text is cut first (transformers)."""
    sizes = [segments.count(0) - 2, segments.count(1) - 1]
    room = max(0, limit - 3)
    if sum(sizes) > room:
        small = min(*sizes, room // 2)
        sizes = [small, room - small] if sizes[0] <= sizes[1] else [room - small, small]
    second = segments.index(1)
    return [*range(1 + sizes[0]), second - 1, *range(second, second + sizes[1]), len(segments) - 1]


class FastTokenizer(EngineTokenizer):
    """Text to ids with the special tokens that the model was trained with, and back.

    Texts are neither truncated nor padded, whatever the tokenizer's file requests.

    Attributes:
        special_ids: the ids of the special tokens by role: pad, unk, cls, sep, mask, bos, eos.
    """

    def __init__(self, engine: tokenizers.Tokenizer, special: Mapping[str, str]) -> None:
        engine.no_truncation()
        engine.no_padding()
        super().__init__(engine)
        self._names = dict(special)
        found = {role: engine.token_to_id(token) for role, token in special.items()}
        self.special_ids = {role: number for role, number in found.items() if number is not None}

    def encode_pair(self, text: str, other: str) -> tuple[list[int], list[int]]:
        """Ids of two texts in one sequence, and the segment (0 or 1) of each token.

        Raises:
            UserError: the tokenizer's file does not write a pair as BERT does.
        """
        first, second = without_lone_surrogates(text), without_lone_surrogates(other)
        found = self._engine.encode(first, second)
        if sum(found.special_tokens_mask) != 3 or 1 not in found.type_ids:
            raise UserError(
                "this tokenizer does not write a pair as [CLS] A [SEP] B [SEP] with segments 0 and "
                "1 (post_processor in tokenizer.json); give one text, or a model whose tokenizer "
                "does so"
            )
        return found.ids, found.type_ids

    def encode_words(self, words: Sequence[str]) -> tuple[list[int], list[int | None]]:
        """Ids of a text that is split into words, and each token's word (None: a special token)."""
        sound = [without_lone_surrogates(word) for word in words]
        found = self._engine.encode(sound, is_pretokenized=True)
        return found.ids, found.word_ids

    def encode_places(self, text: str) -> tuple[list[int], list[Place | None]]:
        """Ids of a text, and each token's position (None: a special token outside the text)."""
        found = self._engine.encode(without_lone_surrogates(text))
        places = [
            None if word is None or outside else Place(*span, word)
            for span, word, outside in zip(
                found.offsets, found.word_ids, found.special_tokens_mask, strict=True
            )
        ]
        return found.ids, places

    def decode(self, ids: Sequence[int], keep_special: bool = False) -> str:
        """The text of these ids; special tokens are dropped unless `keep_special` is set."""
        return self._engine.decode(list(ids), skip_special_tokens=not keep_special)

    def save(self, directory: str | Path) -> None:
        """Write tokenizer.json, and tokenizer_config.json with the special tokens."""
        names = {f"{role}_token": token for role, token in self._names.items()}
        settings: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast"} | names
        # A BERT reads pairs: transformers gives it segments only where the file says so.
        if {"cls", "sep"} <= self._names.keys():
            settings["model_input_names"] = ["input_ids", "token_type_ids", "attention_mask"]
        atomic_write(Path(directory) / "tokenizer.json", self.to_json() + "\n")
        atomic_write(
            Path(directory) / "tokenizer_config.json", json.dumps(settings, indent=2) + "\n"
        )

    @classmethod
    def wordpiece(cls, directory: Path) -> Self:
        """BERT's tokenizer, from tokenizer.json or, as the original code, from vocab.txt."""
        special = special_tokens_of(directory, BERT_SPECIAL)
        if (directory / "tokenizer.json").exists():
            return cls(read_engine(directory), special)
        path = directory / "vocab.txt"
        vocabulary = {piece: number for number, piece in enumerate(read_lines(path))}
        if lost := [
            special[role] for role in ("unk", "cls", "sep") if special[role] not in vocabulary
        ]:
            raise UserError(f"{path} lacks {', '.join(lost)}; it belongs to another model")
        settings = read_json(directory / "tokenizer_config.json", {})
        normalizer = normalizers.BertNormalizer(
            handle_chinese_chars=settings.get("tokenize_chinese_chars", True),
            strip_accents=settings.get("strip_accents"),
            lowercase=settings.get("do_lower_case", True),
        )
        model = models.WordPiece(vocabulary, unk_token=special["unk"])
        return cls(add_special_tokens(wordpiece_engine(model, normalizer), special), special)

    @classmethod
    def byte_level(cls, directory: Path) -> Self:
        """GPT-2's tokenizer, from tokenizer.json or from vocab.json and merges.txt."""
        special = special_tokens_of(directory, GPT_SPECIAL)
        if (directory / "tokenizer.json").exists():
            return cls(read_engine(directory), special)
        vocabulary = read_json(directory / "vocab.json")
        lines = read_lines(directory / "merges.txt")
        pairs = [line.partition(" ") for line in lines if line and not line.startswith("#version")]
        merges = [(left, right) for left, _, right in pairs]
        try:
            model = models.BPE(vocabulary, merges)
        except Exception as error:  # the library raises bare Exception
            raise UserError(
                f"{directory}: vocab.json and merges.txt do not belong together ({error}); "
                "copy the model again"
            ) from error
        settings = read_json(directory / "tokenizer_config.json", {})
        engine = byte_level_engine(model, settings.get("add_prefix_space", False))
        engine.add_special_tokens([s for s in dict.fromkeys(special.values()) if s in vocabulary])
        return cls(engine, special)


def byte_level_engine(model: models.BPE, add_prefix_space: bool = False) -> tokenizers.Tokenizer:
    """GPT-2's engine: byte-pair encoding over bytes, which loses nothing."""
    engine = tokenizers.Tokenizer(model)
    engine.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    engine.decoder = decoders.ByteLevel()
    return engine


def wordpiece_engine(
    model: models.WordPiece, normalizer: normalizers.BertNormalizer
) -> tokenizers.Tokenizer:
    """BERT's engine: words, split into pieces such as `##ing` where the vocabulary lacks them."""
    engine = tokenizers.Tokenizer(model)
    engine.normalizer = normalizer
    engine.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    engine.decoder = decoders.WordPiece()
    return engine


def add_special_tokens(
    engine: tokenizers.Tokenizer, special: Mapping[str, str]
) -> tokenizers.Tokenizer:
    """The same engine, which from now on frames texts: [CLS] A [SEP], or [CLS] A [SEP] B [SEP]."""
    known = [s for s in dict.fromkeys(special.values()) if engine.token_to_id(s) is not None]
    engine.add_special_tokens(known)
    first, last = special["cls"], special["sep"]
    engine.post_processor = TemplateProcessing(
        single=f"{first} $A {last}",
        pair=f"{first} $A {last} $B:1 {last}:1",
        special_tokens=[(token, engine.token_to_id(token)) for token in (first, last)],
    )
    return engine
