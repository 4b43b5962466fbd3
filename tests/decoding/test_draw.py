"""A point on the line of probabilities is a token; many points are the distribution."""

import math

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from clearhead.decoding.engine import SamplingOptions
from clearhead.decoding.sampling import Points, draw, sample, warped

CPU = torch.device("cpu")


def test_a_token_is_the_stretch_that_the_point_falls_on() -> None:
    logits = torch.tensor([[0.2, 0.0, 0.5, 0.3]]).log().expand(6, -1)
    points = torch.tensor([[0.0], [0.1999], [0.2001], [0.6999], [0.7001], [1 - 1e-12]])
    assert draw(logits, points.double()).tolist() == [0, 0, 2, 2, 3, 3]


def test_what_may_not_come_never_comes() -> None:
    logits = torch.tensor([[-torch.inf, 0.0, -torch.inf, 1.0, -torch.inf]])
    for point in (0.0, math.nextafter(1.0, 0.0)):
        assert draw(logits, torch.tensor([[point]], dtype=torch.double)).item() in (1, 3)


def test_drawn_often_enough_a_distribution_shows_itself() -> None:
    """Pearson's chi-square of 40,000 draws with a fixed seed; 1 in 1,000 would be above 27.9."""
    count, probabilities = 40_000, torch.tensor([1, 2, 3, 5, 8, 13, 21, 2, 1, 40]).double()
    probabilities /= probabilities.sum()
    points = Points([11])
    many = torch.cat([points.next([0], CPU) for _ in range(count)])
    tokens = draw(probabilities.log().float().expand(count, -1), many)
    found, expected = tokens.bincount(minlength=10), probabilities * count
    assert float(((found - expected) ** 2 / expected).sum()) < 27.9  # 9 degrees of freedom


def test_sampling_follows_the_bent_distribution() -> None:
    """The same law for temperature, top-k, top-p and min-p together, through the short way."""
    torch.manual_seed(7)
    count, logits = 20_000, torch.randn(60) * 2
    options = SamplingOptions(temperature=0.8, top_k=12, top_p=0.9, min_p=0.02)
    expected = warped(logits[None], options).double().softmax(-1)[0] * count
    points = Points([5])
    many = torch.cat([points.next([0], CPU) for _ in range(count)])
    found = sample(logits.expand(count, -1), options, many).bincount(minlength=60)
    possible = expected > 0
    assert 2 < possible.sum() <= 12 and not found[~possible].any()
    squares = (found[possible] - expected[possible]) ** 2 / expected[possible]
    assert float(squares.sum()) < 31.3  # at most 11 degrees of freedom, 1 in 1,000


@example(seed=4000, top_k=2, top_p=0.3, min_p=0.0, ties=True)
@given(
    seed=st.integers(0, 2**31), top_k=st.integers(1, 40), top_p=st.sampled_from([1.0, 0.9, 0.3]),
    min_p=st.sampled_from([0.0, 0.1]), ties=st.booleans(),
)  # fmt: skip
def test_the_short_way_finds_what_the_long_way_finds(
    seed: int, top_k: int, top_p: float, min_p: float, ties: bool
) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(6, 40, generator=generator) * 2
    logits = logits.round() if ties else logits
    options = SamplingOptions(temperature=0.7, top_k=top_k, top_p=top_p, min_p=min_p)
    points = Points(range(seed, seed + 6)).next(range(6), CPU)
    expected = draw(warped(logits, options), points)
    assert torch.equal(sample(logits, options, points), expected)


def test_a_text_has_the_points_of_its_seed_whatever_the_other_texts_do() -> None:
    together, alone = Points([3, 8, 9]), Points([8])
    first = together.next([0, 1, 2], CPU)
    assert first[1] == alone.next([0], CPU)[0]
    together.next([0, 2], CPU)  # text 1 has no token here
    assert together.next([1, 2], CPU)[0] == alone.next([0], CPU)[0]
    assert first[0] != first[1]


@pytest.mark.parametrize("top_k", [0, 1, 3])
def test_a_vocabulary_smaller_than_k_is_no_trouble(top_k: int) -> None:
    options = SamplingOptions(top_k=top_k)
    found = sample(torch.tensor([[0.0, 5.0]]), options, Points([1]).next([0], CPU))
    assert found.item() in (0, 1)
