"""Tokenizers learned from text, in the layouts of GPT-2 and BERT, which `transformers` loads."""

import json
import logging
import unicodedata
from collections.abc import Iterable
from pathlib import Path

import tokenizers
from tokenizers import models, normalizers, pre_tokenizers, trainers

from clearhead.errors import UserError
from clearhead.files import atomic_write
from clearhead.text import fast_tokenizer as fast
from clearhead.text.inputs import without_lone_surrogates
from clearhead.text.tokenizer import common_characters

log = logging.getLogger("clearhead.text")

# To WordPiece, characters that are rarer than the 1,000 most frequent ones are unknown, as in BERT.
_ALPHABET = 1000
_CASED = normalizers.BertNormalizer(lowercase=False, strip_accents=False)


def learn_byte_level(texts: Iterable[str], vocab_size: int) -> fast.FastTokenizer:
    """GPT-2's: byte-pair encoding over bytes, lossless, with the EOS token as its special token.

    Raises:
        UserError: `vocab_size` is less than the 256 bytes need.
    """
    engine = fast.byte_level_engine(models.BPE())
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    _check_not_too_small(
        vocab_size, len(alphabet) + 1, f"the {len(alphabet)} bytes and the EOS token"
    )
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=2,
        initial_alphabet=sorted(alphabet),
        special_tokens=[fast.GPT_SPECIAL["eos"]],
        show_progress=False,
    )
    engine.train_from_iterator(map(without_lone_surrogates, texts), trainer)
    _warn_of_fewer(vocab_size, engine)
    return fast.FastTokenizer(engine, fast.GPT_SPECIAL)


def learn_wordpiece(texts: Iterable[str], vocab_size: int) -> fast.FastTokenizer:
    """BERT's: words and pieces of words (##ing), case-sensitive; `texts` is read twice.

    Raises:
        UserError: `vocab_size` is less than the text's characters need.
    """
    special = list(fast.BERT_SPECIAL.values())
    alphabet = _visible(common_characters(texts))[:_ALPHABET]
    # Each character may begin or continue a word. The trainer would number these at random, and
    # break ties by number; given as special tokens, they keep their order.
    fixed = [*special, *alphabet, *(f"##{character}" for character in alphabet)]
    _check_not_too_small(vocab_size, len(fixed), "the characters and special tokens")
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocab_size,
        min_frequency=2,
        limit_alphabet=len(alphabet),
        special_tokens=fixed,
        show_progress=False,
    )
    unknown = fast.BERT_SPECIAL["unk"]
    learner = fast.wordpiece_engine(models.WordPiece(unk_token=unknown), _CASED)
    learner.train_from_iterator(map(without_lone_surrogates, texts), trainer)
    _warn_of_fewer(vocab_size, learner)
    model = models.WordPiece(learner.get_vocab(), unk_token=unknown)
    engine = fast.add_special_tokens(fast.wordpiece_engine(model, _CASED), fast.BERT_SPECIAL)
    return fast.FastTokenizer(engine, fast.BERT_SPECIAL)


def save_older_layout(directory: Path) -> None:
    """Write the older files next to tokenizer.json: vocab.json and merges.txt, or vocab.txt.

    They exist for BPE and WordPiece, not for other kinds such as WordLevel.
    """
    model = json.loads((directory / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    if model["type"] not in ("BPE", "WordPiece"):
        return
    pieces = sorted(model["vocab"], key=model["vocab"].__getitem__)
    if model["type"] == "WordPiece":
        atomic_write(directory / "vocab.txt", "".join(f"{piece}\n" for piece in pieces))
        return
    vocabulary = json.dumps({piece: i for i, piece in enumerate(pieces)}, ensure_ascii=False)
    merges = "".join(f"{left} {right}\n" for left, right in model["merges"])
    atomic_write(directory / "vocab.json", vocabulary + "\n")
    atomic_write(directory / "merges.txt", "#version: 0.2\n" + merges)


def _visible(characters: list[str]) -> list[str]:
    """The characters that are neither white space nor control characters."""
    return [c for c in characters if not c.isspace() and unicodedata.category(c)[0] != "C"]


def _check_not_too_small(vocab_size: int, least: int, what: str) -> None:
    if vocab_size < least:
        raise UserError(
            f"vocabulary.size={vocab_size} is too small: {what} alone are {least}; give more"
        )


def _warn_of_fewer(vocab_size: int, engine: tokenizers.Tokenizer) -> None:
    if (found := engine.get_vocab_size()) < vocab_size:
        log.warning(
            "the vocabulary has %d tokens instead of vocabulary.size=%d: no more can be learned "
            "from this text",
            found,
            vocab_size,
        )
