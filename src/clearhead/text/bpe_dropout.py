"""BPE dropout: a word is split in varying ways, so that a model learns how its pieces are spelled.

Byte-pair encoding always splits a word in the same way, and a piece that is a whole word hides its
letters: nothing shows the model that *oncle* begins with a vowel as *ami* does. Provilkov et al.
(2020, section 3) skip each possible merge with a small probability, so that the letters are
sometimes visible.

A new random split at each occurrence would be slow in Python. Here a few splits of each known word
are drawn once, and each occurrence draws one of these.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from random import Random

import numpy as np
from tokenizers import models, trainers

from clearhead.errors import UserError
from clearhead.text.inputs import without_lone_surrogates
from clearhead.text.tokenizer import Tokenizer

CUTS = 16
"""The number of splits that are drawn for each word."""
LONGEST_WORD = 1000
"""In characters; drawing a split takes time that grows with the square of the length."""
_UNKNOWN = "<unk>"


class BpeDropout:
    """A tokenizer whose splits vary; the same arguments give the same ids in the same order.

    Args:
        texts: their words of at most `LONGEST_WORD` characters are known; a text with another
            word is split as usual.
        rate: the probability of skipping a merge; 0 splits as the tokenizer does.

    Raises:
        UserError: the tokenizer has no merges, or its pieces cannot be spelled.
    """

    def __init__(
        self, tokenizer: Tokenizer, texts: Iterable[str], rate: float, seed: int = 0
    ) -> None:
        self.tokenizer = tokenizer
        self._rng = np.random.default_rng(abs(seed))
        self._words = tokenizer.same_boundaries(models.WordLevel({_UNKNOWN: 0}, _UNKNOWN))
        learner = trainers.WordLevelTrainer(
            vocab_size=2**31 - 1, special_tokens=[_UNKNOWN], show_progress=False
        )
        short = (t for t in texts if max(map(len, t.split()), default=0) <= LONGEST_WORD)
        self._words.train_from_iterator(map(without_lone_surrogates, short), learner)
        known = self._words.get_vocab()
        cutter = _Cutter(tokenizer, rate)
        cuts = [
            cut for word in sorted(known, key=known.__getitem__) for cut in cutter.cuts(word, seed)
        ]
        self._lengths = np.array([len(cut) for cut in cuts])
        self._starts = np.cumsum(self._lengths) - self._lengths
        self._ids = np.array([token for cut in cuts for token in cut])

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of many texts, each word in one of its splits."""
        found = self._words.encode_batch_fast([without_lone_surrogates(text) for text in texts])
        words = [encoding.ids for encoding in found]
        ids, ends = self._draw(words)
        usual = [i for i, row in enumerate(words) if 0 in row]
        result = [ids[start:end] for start, end in pairwise([0, *ends])]
        for i, row in zip(
            usual, self.tokenizer.encode_batch([texts[i] for i in usual]), strict=True
        ):
            result[i] = row
        return result

    def _draw(self, texts: list[list[int]]) -> tuple[list[int], list[int]]:
        """Words -> the ids of one split of each, in one list, and the end of each text in it."""
        words = np.array([word for text in texts for word in text], dtype=np.int64)
        chosen = words * CUTS + self._rng.integers(CUTS, size=words.size)
        lengths = self._lengths[chosen]
        ends = np.cumsum(lengths)
        shift = np.repeat(self._starts[chosen] - (ends - lengths), lengths)
        ids = self._ids[np.arange(shift.size) + shift]
        last_words = np.cumsum([len(text) for text in texts], dtype=np.int64)
        return ids.tolist(), np.concatenate([[0], ends])[last_words].tolist()


class _Cutter:
    """Byte-pair encoding of one word, with skipped merges."""

    def __init__(self, tokenizer: Tokenizer, rate: float) -> None:
        self.rate = rate
        model = json.loads(tokenizer.to_json())["model"]
        marked = model.get("continuing_subword_prefix") or model.get("end_of_word_suffix")
        has_unknown = model.get("unk_token") and not model.get("byte_fallback")
        if model["type"] != "BPE" or marked or has_unknown:
            raise UserError(
                "BPE dropout needs a tokenizer of byte-pair encoding that has bytes for unknown "
                f"characters and no marks within words, unlike this one ({model['type']}); set "
                "vocabulary.dropout=0, or leave vocabulary.path out"
            )
        self.vocab: dict[str, int] = model["vocab"]
        self.ranks = {(left, right): rank for rank, (left, right) in enumerate(model["merges"])}

    def cuts(self, word: str, seed: int) -> list[list[int]]:
        """The splits of a word, which do not depend on other words."""
        rng = Random(f"{seed} {word}")
        return [
            [i for piece in self.cut(word, rng) for i in self._spell(piece)] for _ in range(CUTS)
        ]

    def cut(self, word: str, rng: Random) -> list[str]:
        """Merge the pair that was learned first, until none is left that is not skipped."""
        pieces = list(word)
        while found := [
            (self.ranks[pair], index)
            for index, pair in enumerate(pairwise(pieces))
            if pair in self.ranks and rng.random() >= self.rate
        ]:
            _, index = min(found)
            pieces[index : index + 2] = [pieces[index] + pieces[index + 1]]
        return pieces

    def _spell(self, piece: str) -> list[int]:
        if piece in self.vocab:
            return [self.vocab[piece]]
        return [self.vocab[f"<0x{byte:02X}>"] for byte in piece.encode()]
