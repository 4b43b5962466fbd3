"""What an engine is: token ids in, hypotheses out; and the options of its search or sampling."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from numbers import Integral, Real
from operator import index
from typing import Protocol

from clearhead.errors import UserError
from clearhead.models.config import TransformerConfig

MOST_BEAMS = 1024
# At the lowest temperature, a token whose logit is 0.01 below the largest has at most e^-100 of the
# largest probability.
COLDEST, HOTTEST = 1e-4, 1e4


@dataclass(frozen=True)
class DecodingOptions:
    """The choices of a search; lengths are in tokens.

    A translation of a source of n tokens has at most `max_length` tokens or, if that is None,
    `max_length_factor` · n + `max_length_extra` (but at least `min_length` + 1); the EOS token
    counts. The model's positions are the final limit. `min_length` does not count the EOS token.
    See `normalize` for `length_penalty`.

    With `early_stopping` a beam search ends when `beam_size` hypotheses are finished; without
    it, when no unfinished one can still become better. `batch_tokens` limits sentences · beams
    · longest source of a batch, and `batch_sentences`, if given, the sentences.
    `scores=False` allows an engine to skip the softmax of a greedy search; the scores may then
    be NaN.

    Raises:
        UserError: a number outside its range.
    """

    beam_size: int = 4
    length_penalty: float = 1.0
    n_best: int = 1
    no_repeat_ngram: int = 0
    min_length: int = 1
    max_length: int | None = None
    max_length_factor: float = 2.0
    max_length_extra: int = 20
    early_stopping: bool = False
    batch_tokens: int = 8192
    batch_sentences: int | None = None
    scores: bool = True

    def __post_init__(self) -> None:
        whole = {"beam_size": 1, "n_best": 1, "no_repeat_ngram": 0, "min_length": 0}
        whole |= {"max_length_extra": 1, "batch_tokens": 1}
        optional = {"batch_sentences": 1, "max_length": 1}
        whole |= {n: least for n, least in optional.items() if getattr(self, n) is not None}
        for name, least in whole.items():
            _set_whole(self, name, least)
        if self.beam_size > MOST_BEAMS:
            raise UserError(
                f"beam_size={self.beam_size} is more than {MOST_BEAMS}; 4 to 12 beams are usual"
            )
        _set_number(self, "max_length_factor", 0, 1000, "2 allows twice the source's tokens")
        _set_number(self, "length_penalty", -10, 10, "0 compares sums, 1 means per token")
        if not isinstance(self.early_stopping, bool):
            raise UserError(f"early_stopping={self.early_stopping!r}; give True or False")
        if self.n_best > self.beam_size:
            raise UserError(
                f"n_best={self.n_best} is more than beam_size={self.beam_size}; "
                "a search finds at most as many translations as it has beams"
            )
        if self.max_length is not None and self.max_length <= self.min_length:
            raise UserError(
                f"max_length={self.max_length} leaves no room for min_length={self.min_length} "
                "tokens and the EOS token; give at least one more"
            )

    def limit(self, src_len: int, tgt_seq_len: int) -> int:
        """The maximum length of a translation, EOS token included, of `src_len` source tokens."""
        wanted = self.max_length
        if wanted is None:
            relative = int(self.max_length_factor * src_len) + self.max_length_extra
            wanted = max(relative, self.min_length + 1)
        return min(wanted, tgt_seq_len)


@dataclass(frozen=True)
class SamplingOptions:
    """The choices of text generation; see `sampling` for the effect of each on the logits.

    A temperature of 0 (or below `COLDEST`) is greedy: always the most probable token; then
    top_k, top_p and min_p have no effect. top_k=0, top_p=1, min_p=0 and repetition_penalty=1
    are off. A text ends with the EOS token, unless `ignore_eos` is set, after `max_new_tokens`,
    or at the last position of the model.

    Raises:
        UserError: a number outside its range.
    """

    max_new_tokens: int = 100
    temperature: float = 1.0
    top_k: int = 50
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    ignore_eos: bool = False

    def __post_init__(self) -> None:
        _set_whole(self, "max_new_tokens", 1)
        _set_whole(self, "top_k", 0)
        _set_number(self, "temperature", 0, HOTTEST, "0 is greedy, 1 leaves the logits unchanged")
        _set_number(self, "top_p", 0, 1, "1 keeps all tokens, 0.9 those that make up nine tenths")
        _set_number(self, "min_p", 0, 1, "0 keeps all tokens, 0.1 those above a tenth of the best")
        _set_number(self, "repetition_penalty", 0.01, 100, "1 is none, 1.2 a usual one")

    @property
    def greedy(self) -> bool:
        """Whether no random number is used."""
        return self.temperature < COLDEST


def check_whole(name: str, value: object, least: int, meaning: str = "") -> int:
    """The value if it is a whole number of at least `least`; `meaning` says why so many."""
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < least:
        raise UserError(f"{name}={value!r} is not a whole number of at least {least}{meaning}")
    return int(value)


def _set_whole(options: object, name: str, least: int) -> None:
    """Check an option; a number of another type, such as NumPy's, becomes an int."""
    object.__setattr__(options, name, check_whole(name, getattr(options, name), least))


def _set_number(options: object, name: str, low: float, high: float, meaning: str) -> None:
    value = getattr(options, name)
    plain = float(value) if isinstance(value, Real) else nan
    if not low <= plain <= high:  # true of NaN, too
        raise UserError(f"{name}={value!r} is not a number from {low:g} to {high:g}; {meaning}")
    object.__setattr__(options, name, value if isinstance(value, int) else plain)


@dataclass(frozen=True)
class Hypothesis:
    """One translation in ids, without its EOS token.

    `score` is its log-probability, the sum over its tokens and its EOS token (it may be NaN
    if the options ask for no scores); hypotheses are ranked by `normalized`; `finished` is
    False if the length limit came before the EOS token.
    """

    ids: list[int]
    score: float
    normalized: float
    finished: bool

    @property
    def per_token(self) -> float:
        """The score per token; the EOS token counts, even if the hypothesis is unfinished."""
        return self.score / (len(self.ids) + 1)

    @property
    def rank(self) -> tuple[bool, float]:
        """Larger is better; every finished hypothesis is ranked before the unfinished ones."""
        return self.finished, self.normalized


def normalize(score: float, length: int, length_penalty: float) -> float:
    r"""The score by which translations of different lengths are compared.

    .. math:: \text{score} / \text{length}^{\alpha}

    with alpha the length penalty and the length in tokens, EOS token included. A sum of
    log-probabilities falls with every token; alpha = 0 leaves it so and prefers
    short translations, alpha = 1 compares the mean per token, a larger alpha
    prefers long ones. (Transformers and CTranslate2 use this formula; Wu et al. 2016,
    equation 14, divide by ((5 + length) / 6)^alpha instead.)
    """
    return score / length**length_penalty


class Engine(Protocol):
    """A model and a search over its output.

    `decode` translates each source, ids that end with the EOS token, into its n_best
    hypotheses, best first. The results are in the order of the sources, and the translation
    of a sentence does not depend on the other sentences.
    """

    @property
    def config(self) -> TransformerConfig:
        """The sizes and special tokens of the model."""

    def decode(
        self, sources: Sequence[Sequence[int]], options: DecodingOptions | None = None
    ) -> list[list[Hypothesis]]:
        """The n_best hypotheses of each source."""


def check_layer(layer: int, layers: int) -> None:
    """Refuse a decoder layer that is not there; negative ones count from the end."""
    if not -layers <= layer < layers:
        raise UserError(
            f"there is no decoder layer {layer}; this model has {layers}, counted from 0"
        )


def lists_of_ids(texts: Sequence[Sequence[int]]) -> list[list[int]]:
    """Lists, arrays or tensors of ids as lists; all else is a `UserError`."""
    try:
        return [[*map(index, ids.tolist() if hasattr(ids, "tolist") else ids)] for ids in texts]
    except TypeError as error:
        raise UserError(f"these are not lists of ids ({error}); give [[5, 6, 2]]") from error


def check_sources(sources: Sequence[Sequence[int]], src_seq_len: int) -> list[list[int]]:
    """The sources as lists: at least an EOS token each, and a position for every token.

    Raises:
        UserError: a source is not a list, array or tensor of ids, or is empty or too long.
    """
    found = lists_of_ids(sources)
    for number, source in enumerate(found):
        if not len(source):
            raise UserError(f"source {number} is empty; expected ids that end with the EOS token")
        if len(source) > src_seq_len:
            raise UserError(
                f"source {number} has {len(source)} tokens, EOS token included, but this model "
                f"has src_seq_len={src_seq_len} positions; split the sentence"
            )
    return found
