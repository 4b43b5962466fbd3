"""Whether two searches that disagree met a tie: scores that differ by less than 1e-4."""

from collections.abc import Sequence
from dataclasses import replace

from clearhead.decoding import DecodingOptions, Engine, Hypothesis

TIE = 1e-4  # more than the log-probabilities of two engines differ by


def are_equal(found: Sequence[Hypothesis], expected: Sequence[Hypothesis], scored: bool) -> bool:
    """Scores that are tied at each rank; the same ids where there are no scores."""
    if len(found) != len(expected):
        return False
    same = _tied if scored else _same
    return all(same(one, other) for one, other in zip(found, expected, strict=True))


def differ_by_a_tie(
    one: Engine, other: Engine, source: Sequence[int], options: DecodingOptions
) -> bool:
    """Whether both engines find the same for this source alone, or part where there is a tie.

    Searches that end after 1, 2, … tokens show which hypotheses were alive: those that only one
    engine kept must have a score that another of the same length has, too.
    """
    limit = options.limit(len(source), one.config.tgt_seq_len)
    for length in range(options.min_length + 1, limit + 1):
        cut = replace(options, max_length=length, n_best=options.beam_size, scores=True)
        ours, theirs = ({_key(h): h for h in e.decode([source], cut)[0]} for e in (one, other))
        parted = ours.keys() ^ theirs.keys()
        if parted:
            every = ours | theirs
            return all(_has_a_tie(key, every) for key in parted)
    return True


Key = tuple[tuple[int, ...], bool]


def _key(hypothesis: Hypothesis) -> Key:
    return tuple(hypothesis.ids), hypothesis.finished


def _has_a_tie(key: Key, every: dict[Key, Hypothesis]) -> bool:
    length = len(key[0]) + key[1]
    return any(
        abs(every[key].score - other.score) <= TIE
        for others, other in every.items()
        if others != key and len(others[0]) + others[1] == length
    )


def _same(one: Hypothesis, other: Hypothesis) -> bool:
    return _key(one) == _key(other)


def _tied(one: Hypothesis, other: Hypothesis) -> bool:
    """A negative length penalty multiplies scores, and their difference with them."""
    return abs(one.normalized - other.normalized) <= max(TIE, 1e-5 * abs(other.normalized))
