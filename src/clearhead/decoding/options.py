"""How to search: one frozen record, checked when it is made."""

from dataclasses import dataclass

from clearhead.errors import UserError


@dataclass(frozen=True)
class DecodingOptions:
    """The choices of a search; lengths are in tokens.

    A translation of a source of n tokens may take `max_length` tokens, or, where
    that is None, `max_length_factor` · n + `max_length_extra`; the end sign
    counts, and the model's positions are the last limit. `min_length` does not
    count the end sign. See `hypothesis.normalize` for `length_penalty`.

    With `early_stopping` a beam search ends when `beam_size` hypotheses are
    finished; without, when no unfinished one can still become better.
    `batch_tokens` bounds sentences · beams · longest source of a batch, and
    `batch_sentences`, if given, the sentences. With `refill` the place of a finished
    sentence goes to one that waits, where the model's blocks allow it.
    `scores=False` lets greedy search skip the softmax.

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
    refill: bool = True
    scores: bool = True

    def __post_init__(self) -> None:
        self._at_least("beam_size", 1)
        self._at_least("n_best", 1)
        self._at_least("no_repeat_ngram", 0)
        self._at_least("min_length", 0)
        self._at_least("max_length_extra", 1)
        self._at_least("batch_tokens", 1)
        if self.batch_sentences is not None:
            self._at_least("batch_sentences", 1)
        if not 0 <= self.max_length_factor < 1000:
            raise UserError(
                f"max_length_factor={self.max_length_factor} is not a number from 0 to 1000"
            )
        if not -10 <= self.length_penalty <= 10:
            raise UserError(
                f"length_penalty={self.length_penalty} is not a number from -10 to 10; "
                "0 compares sums, 1 means per token"
            )
        if self.n_best > self.beam_size:
            raise UserError(
                f"n_best={self.n_best} is more than beam_size={self.beam_size}; "
                "a search finds at most as many translations as it has beams"
            )
        if self.max_length is not None and self.max_length <= self.min_length:
            raise UserError(
                f"max_length={self.max_length} leaves no room for min_length={self.min_length} "
                "tokens and the end sign; give at least one more"
            )

    def limit(self, src_len: int, tgt_seq_len: int) -> int:
        """The most tokens, end sign included, that a source of `src_len` tokens may become."""
        wanted = self.max_length
        if wanted is None:
            relative = int(self.max_length_factor * src_len) + self.max_length_extra
            wanted = max(relative, self.min_length + 1)
        return min(wanted, tgt_seq_len)

    def _at_least(self, name: str, least: int) -> None:
        value = getattr(self, name)
        if not isinstance(value, int) or value < least:
            raise UserError(f"{name}={value!r} is not a whole number of at least {least}")
