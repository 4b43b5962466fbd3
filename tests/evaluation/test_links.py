import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from clearhead.evaluation.links import LinkCount, links_as_matrix


def surely(links: list[tuple[int, int]], target_words: int, source_words: int) -> Tensor:
    return links_as_matrix(links, links, target_words, source_words)


def error(looks: Tensor, truth: Tensor, said: Tensor | None = None) -> float:
    count = LinkCount()
    count.add(looks, truth, torch.ones(truth.shape[0], dtype=torch.bool) if said is None else said)
    return count.error().item()


@st.composite
def sentences(draw: st.DrawFn) -> tuple[Tensor, Tensor]:
    """What an aligner looks at, and the truth, of one shape."""
    target, source = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 10**6)))
    looks = torch.rand(target, source, generator=generator)
    worth = torch.tensor([0.0, 0.0, 1.0, 2.0])  # no link, no link, possible, sure
    return looks, worth[torch.randint(4, (target, source), generator=generator)]


def test_looking_at_the_truth_has_no_error() -> None:
    truth = surely([(0, 2), (1, 0), (2, 1)], 3, 3)
    assert error(truth, truth) == 0


def test_looking_nowhere_near_the_truth_is_all_error() -> None:
    truth = surely([(0, 0), (1, 1)], 2, 3)
    assert error(surely([(2, 0), (2, 1)], 2, 3), truth) == 1


def test_the_formula_of_och_and_ney() -> None:
    truth = surely([(0, 0), (1, 0), (2, 1)], 3, 3)
    looks = surely([(0, 0), (1, 1), (2, 2)], 3, 3)
    found = {(0, 0), (1, 1), (2, 2)}
    sure = {(0, 0), (1, 0), (2, 1)}
    assert error(looks, truth) == pytest.approx(1 - 2 * len(found & sure) / (3 + 3))


def test_a_possible_link_is_right_where_it_is_drawn_and_not_missed_where_it_is_not() -> None:
    sure, possible = {(0, 0), (1, 1)}, {(0, 0), (1, 1), (0, 2)}
    truth = links_as_matrix(sure, possible, 3, 2)
    drawn, elsewhere = (surely([(0, 0), (1, 1), (source, 2)], 3, 2) for source in (0, 1))
    assert error(drawn, truth) == 1 - (2 + 3) / (3 + 2)
    assert error(elsewhere, truth) == pytest.approx(1 - (2 + 2) / (3 + 2))


@given(sentences())
def test_the_error_lies_between_0_and_1(sentence: tuple[Tensor, Tensor]) -> None:
    assert 0 <= error(*sentence) <= 1


@given(sentences())
def test_no_aligner_beats_one_that_looks_at_the_truth(sentence: tuple[Tensor, Tensor]) -> None:
    looks, truth = sentence
    assert error(looks, truth) >= error(truth, truth) - 1e-6


@given(st.lists(sentences(), min_size=1, max_size=3))
def test_many_aligners_at_once_are_each_counted_alone(
    corpus: list[tuple[Tensor, Tensor]],
) -> None:
    together, first, second = LinkCount(), LinkCount(), LinkCount()
    for looks, truth in corpus:
        said = torch.ones(truth.shape[0], dtype=torch.bool)
        together.add(torch.stack([looks, -looks]), truth, said)
        first.add(looks, truth, said)
        second.add(-looks, truth, said)
    assert together.error().tolist() == [first.error().item(), second.error().item()]


def test_a_word_without_pieces_gets_no_link() -> None:
    truth = surely([(0, 0)], 2, 2)
    looks = surely([(0, 0), (0, 1)], 2, 2)
    assert error(looks, truth, torch.tensor([True, False])) == 0


def test_without_any_link_there_is_no_error() -> None:
    assert LinkCount().error().item() == 0
