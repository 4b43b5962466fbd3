"""The course's own solutions equal the library's functions, or PyTorch's, where these exist."""

import math

import pytest
import torch
from torch import Tensor

from clearhead.blocks import scaled_dot_product_attention
from clearhead.learn.content.reference.beam import beam_search
from clearhead.learn.content.reference.bleu_parts import brevity_penalty, clipped_precision
from clearhead.learn.content.reference.cached_attention import attend_cached
from clearhead.learn.content.reference.greedy import greedy
from clearhead.learn.content.reference.label_smoothing import smoothed_loss
from clearhead.learn.content.reference.learning_rate import learning_rate
from clearhead.learn.content.reference.quantize import quantize
from clearhead.training.recipe import make_schedule


def toy(ids: list[int]) -> Tensor:
    generator = torch.Generator().manual_seed(sum((i + 1) * t for i, t in enumerate(ids)))
    return torch.randn(5, generator=generator).log_softmax(0)


def test_the_smoothed_loss_is_pytorchs() -> None:
    logits, labels = torch.randn(9, 7), torch.tensor([1, 2, 3, 4, 5, 6, 0, 0, 0])
    ours = smoothed_loss(logits.log_softmax(1), labels, 0.1, 0)
    theirs = torch.nn.functional.cross_entropy(logits, labels, ignore_index=0, label_smoothing=0.1)
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("step", [1, 7, 40, 500])
def test_the_learning_rate_is_that_of_training(step: int) -> None:
    schedule = make_schedule("paper", 1.0, 40, 1000, 48)
    assert learning_rate(step, 48, 40) == pytest.approx(schedule(step))


def test_cached_attention_is_causal_attention() -> None:
    q, k, v = torch.randn(3, 2, 3, 5, 4).unbind()
    cache: dict[str, Tensor] = {}
    steps = [x.split(1, dim=2) for x in (q, k, v)]
    rows = [attend_cached(a, b, c, cache) for a, b, c in zip(*steps, strict=True)]
    mask = torch.ones(5, 5, dtype=torch.bool).tril()
    whole, _ = scaled_dot_product_attention(q, k, v, mask)
    torch.testing.assert_close(torch.cat(rows, dim=2), whole)


def test_a_beam_of_one_is_greedy() -> None:
    assert beam_search(toy, 0, 1, 1, 9) == greedy(toy, 0, 1, 9)


def test_a_beam_of_everything_finds_the_best_sequence() -> None:
    def score(ids: list[int]) -> float:
        return sum(float(toy(ids[:i])[ids[i]]) for i in range(1, len(ids))) / (len(ids) - 1)

    two = [[0, a, b] for a in range(5) if a != 1 for b in range(5)]
    best = max([[0, 1], *two], key=score)
    assert beam_search(toy, 0, 1, 25, 2) == [t for t in best[1:] if t != 1]


def test_precision_and_penalty_give_sacrebleus_sentence_score() -> None:
    sacrebleu = pytest.importorskip("sacrebleu")
    ours, theirs = "the cat sat on the mat today", "the cat sat on the mat all day long"
    parts = [clipped_precision(ours.split(), theirs.split(), n) for n in (1, 2, 3, 4)]
    score = 100 * brevity_penalty(7, 9) * math.prod(parts) ** 0.25
    assert score == pytest.approx(sacrebleu.sentence_bleu(ours, [theirs]).score)


def test_quantized_weights_are_within_half_a_step() -> None:
    weight = torch.randn(4, 9)
    integers, scale = quantize(weight)
    assert integers.dtype == torch.int8 and int(integers.abs().max()) == 127
    assert bool(((integers * scale - weight).abs() <= scale / 2 + 1e-6).all())
