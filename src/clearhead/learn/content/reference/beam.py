"""Beam search with any model that scores the next token."""

from collections.abc import Callable

from torch import Tensor


def beam_search(
    next_log_probabilities: Callable[[list[int]], Tensor],
    bos_id: int,
    eos_id: int,
    beam_size: int,
    max_length: int,
) -> list[int]:
    """The best hypothesis by its average log-probability a token (EOS counts as one).

    In every step all hypotheses are extended by all tokens and the `beam_size` best sums
    are kept; those that end in EOS are finished and leave the beam. After `max_length`
    steps the unfinished ones count too. The result has neither BOS nor EOS.
    """
    beam: list[tuple[list[int], float]] = [([bos_id], 0.0)]
    finished: list[tuple[list[int], float]] = []
    for _ in range(max_length):
        candidates = []
        for ids, score in beam:
            scores = next_log_probabilities(ids).tolist()
            candidates += [([*ids, token], score + s) for token, s in enumerate(scores)]
        candidates.sort(key=lambda candidate: candidate[1], reverse=True)
        best = candidates[:beam_size]
        finished += [one for one in best if one[0][-1] == eos_id]
        beam = [one for one in best if one[0][-1] != eos_id]
        if not beam:
            break
    ids, _ = max([*finished, *beam], key=lambda one: one[1] / (len(one[0]) - 1))
    return [token for token in ids[1:] if token != eos_id]
