"""Tokenizers learned from text, in the layouts of GPT-2 and BERT, which `transformers` loads."""

import json
import unicodedata
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers.processors import TemplateProcessing

from clearhead.errors import UserError
from clearhead.files import atomic_write
from clearhead.text.fast_tokenizer import BERT_SIGNS, GPT_SIGNS, FastTokenizer
from clearhead.text.pieces import without_lone_surrogates

# A character seen fewer times than the most common 1,000 is unknown to WordPiece, as in BERT.
_ALPHABET = 1000


def learn_byte_level(texts: Iterable[str], vocab_size: int) -> FastTokenizer:
    """GPT-2's: byte-pair encoding over bytes, lossless, with one sign, the end of a text.

    Raises:
        UserError: fewer pieces can be learned from this text, or than there are bytes.
    """
    sign = GPT_SIGNS["eos"]
    engine = tokenizers.Tokenizer(models.BPE())
    engine.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    engine.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    _refuse_small(vocab_size, len(alphabet) + 1, f"the {len(alphabet)} bytes and the sign")
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=2,
        initial_alphabet=sorted(alphabet),
        special_tokens=[sign],
        show_progress=False,
    )
    engine.train_from_iterator(map(without_lone_surrogates, texts), trainer)
    _refuse_large(vocab_size, engine)
    return FastTokenizer(engine, GPT_SIGNS)


def learn_wordpiece(texts: Iterable[str], vocab_size: int) -> FastTokenizer:
    """BERT's: words and pieces of words (##ing), upper and lower case kept apart.

    `texts` is read twice.

    Raises:
        UserError: fewer pieces can be learned from this text, or than it has characters.
    """
    signs = list(BERT_SIGNS.values())
    alphabet = _common_characters(texts)
    # Each character may begin a word or go on with one. The trainer would number these at
    # random, and break ties by number; what is given as a special token keeps its place.
    fixed = [*signs, *alphabet, *(f"##{character}" for character in alphabet)]
    _refuse_small(vocab_size, len(fixed), "the characters and signs")
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocab_size,
        min_frequency=2,
        limit_alphabet=len(alphabet),
        special_tokens=fixed,
        show_progress=False,
    )
    learner = _bert_engine(models.WordPiece(unk_token=BERT_SIGNS["unk"]))
    learner.train_from_iterator(map(without_lone_surrogates, texts), trainer)
    _refuse_large(vocab_size, learner)
    vocabulary = models.WordPiece(learner.get_vocab(), unk_token=BERT_SIGNS["unk"])
    engine = _bert_engine(vocabulary)
    engine.add_special_tokens(signs)
    first, last = BERT_SIGNS["cls"], BERT_SIGNS["sep"]
    engine.post_processor = TemplateProcessing(
        single=f"{first} $A {last}",
        pair=f"{first} $A {last} $B:1 {last}:1",
        special_tokens=[(sign, engine.token_to_id(sign)) for sign in (first, last)],
    )
    return FastTokenizer(engine, BERT_SIGNS)


def _bert_engine(model: models.Model) -> tokenizers.Tokenizer:
    engine = tokenizers.Tokenizer(model)
    engine.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    engine.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    engine.decoder = decoders.WordPiece()
    return engine


def save_older_layout(directory: Path) -> None:
    """Beside tokenizer.json the files of before: vocab.json and merges.txt, or vocab.txt."""
    model = json.loads((directory / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    pieces = sorted(model["vocab"], key=model["vocab"].__getitem__)
    if model["type"] == "WordPiece":
        atomic_write(directory / "vocab.txt", "".join(f"{piece}\n" for piece in pieces))
        return
    vocabulary = json.dumps({piece: i for i, piece in enumerate(pieces)}, ensure_ascii=False)
    merges = "".join(f"{left} {right}\n" for left, right in model["merges"])
    atomic_write(directory / "vocab.json", vocabulary + "\n")
    atomic_write(directory / "merges.txt", "#version: 0.2\n" + merges)


def _common_characters(texts: Iterable[str]) -> list[str]:
    # Counted here because the trainer breaks ties between rare characters at random.
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(unicodedata.normalize("NFC", without_lone_surrogates(text)))
    known = [c for c in counts if not c.isspace() and unicodedata.category(c)[0] != "C"]
    return sorted(known, key=lambda c: (-counts[c], c))[:_ALPHABET]


def _refuse_small(vocab_size: int, least: int, what: str) -> None:
    if vocab_size < least:
        raise UserError(
            f"vocabulary.size={vocab_size} is too small: {what} alone are {least}; give more"
        )


def _refuse_large(vocab_size: int, engine: tokenizers.Tokenizer) -> None:
    if (found := engine.get_vocab_size()) < vocab_size:
        raise UserError(
            f"only {found} pieces can be learned from this text, fewer than vocabulary.size="
            f"{vocab_size}; give --set vocabulary.size={found}, or more text"
        )
