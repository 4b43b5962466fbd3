"""Probes of decoding, caching and BLEU, on toy models that depend on the whole prefix."""

from collections.abc import Callable

import torch
from torch import Tensor

from clearhead.learn.content.probes.lists import listed
from clearhead.learn.run import DRAWN, LAW, Run, probe


def special_ids(run: Run) -> tuple[int, int]:
    """The ids of BOS and EOS, which differ from case to case."""
    return run.vocab % 3, (run.vocab + 1) % 3


def toy_model(run: Run, vocab: int, eos_bias: float) -> Callable[[list[int]], Tensor]:
    """Log-probabilities that depend on every token of the prefix."""
    bos_id, eos_id = special_ids(run)
    table = run.normal(32, vocab).to(torch.float64)

    def next_log_probabilities(ids: list[int]) -> Tensor:
        code = sum((place + 1) * int(token) for place, token in enumerate(ids))
        scores = table[code % 32].clone()
        scores[bos_id] = -50.0
        scores[eos_id] += eos_bias
        return scores.log_softmax(0)

    return next_log_probabilities


@probe(*({"vocab": v, "max_length": n} for v, n in ((6, 8), (5, 3), (9, 12), (4, 5))))
def greedy(run: Run) -> None:
    """`greedy(next_log_probabilities, bos_id, eos_id, max_length)`."""
    for bias in (-3.0, 0.0, 1.0):
        model = toy_model(run, run.vocab, bias)
        found, again = (
            listed(run.get("greedy")(model, *special_ids(run), run.max_length)) for _ in range(2)
        )
        run.seen[f"ids, EOS bias {bias:g}"] = found
        run.law(DRAWN.removeprefix(LAW), found == again)


@probe(*({"vocab": v, "beam_size": b, "max_length": 6} for v, b in ((6, 2), (5, 4), (8, 3))))
def beam_search(run: Run) -> None:
    """`beam_search(next_log_probabilities, bos_id, eos_id, beam_size, max_length)`."""
    for bias in (-2.0, -1.0, 0.0, 0.5, 1.0, 2.0, -0.75, -0.5, -1.5, 0.25, -0.25, 0.75):
        model = toy_model(run, run.vocab, bias)
        found = run.get("beam_search")(model, *special_ids(run), run.beam_size, run.max_length)
        run.seen[f"ids, EOS bias {bias:g}"] = listed(found)
    bos_id, eos_id = special_ids(run)

    def second(ids: list[int]) -> Tensor:
        """The EOS token is the second best first token; later, all are about equally likely."""
        scores = 0.05 * torch.arange(run.vocab, dtype=torch.float64).mul(len(ids)).sin()
        if len(ids) == 1:
            scores -= 50.0
            scores[eos_id], scores[eos_id - 2] = 0.0, 0.4
        scores[bos_id] = -50.0
        return scores.log_softmax(0)

    found = run.get("beam_search")(second, bos_id, eos_id, run.beam_size, run.max_length)
    run.seen["ids, EOS second"] = listed(found)


@probe({"batch": 2, "h": 3, "steps": 5, "d_k": 4}, {"batch": 1, "h": 2, "steps": 4, "d_k": 7})
def cached_attention(run: Run) -> None:
    """`attend_cached(query, key, value, cache)`, token by token."""
    attend = run.get("attend_cached")
    inputs = [run.normal(run.batch, run.h, run.steps, run.d_k) for _ in range(3)]
    cache: dict[str, Tensor] = {}

    def all_steps(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        cache.clear()
        rows = [x.split(1, dim=2) for x in (query, key, value)]
        return torch.cat([attend(q, k, v, cache) for q, k, v in zip(*rows, strict=True)], dim=2)

    # Translation needs no gradient: a cache may be made once and be filled in place.
    with torch.no_grad():
        run.see("outputs of all steps", all_steps, *inputs)
        again = all_steps(*inputs)
    first = run.seen["outputs of all steps"]
    same = again.shape == first.shape and torch.allclose(again, first, atol=1e-4)
    run.law("with a new, empty cache a new sentence begins", same)


PAIRS = (
    ("the cat sat on the mat", "the cat is on the mat"),
    ("the the the the the the the", "the cat is on the mat"),
    ("the mat on sat cat the", "the cat sat on the mat"),
    ("a dog", "a dog barks loudly at the cat"),
    ("one", "one two three"),
    ("the cat", "the cat saw the other cat"),
    ("he saw the old man on the hill again today", "he saw the man"),
    ("there is no tone here", "there is not one here"),  # alike only without the space
)


@probe()
def bleu_parts(run: Run) -> None:
    """`clipped_precision(hypothesis, reference, n)` and `brevity_penalty(…)`."""
    precision, penalty = run.get("clipped_precision"), run.get("brevity_penalty")
    for hypothesis, reference in PAIRS:
        for n in (1, 2, 3):
            found = float(precision(hypothesis.split(), reference.split(), n))
            run.seen[f"precision of {n}-grams of {hypothesis!r}"] = found
    for ours, theirs in ((9, 12), (12, 12), (15, 12), (5, 7)):
        run.seen[f"brevity penalty of {ours} for {theirs}"] = float(penalty(ours, theirs))
