import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhead.fast.block_topk import best, best_continuations

VOCABULARIES = [23, 1000, 1024, 8000]  # too small, does not divide, and two that do


@pytest.mark.parametrize("vocab", VOCABULARIES)
def test_the_best_is_the_best(vocab: int) -> None:
    scores = torch.randn(7, vocab)
    value, index = best(scores)
    torch.testing.assert_close((value, index), tuple(scores.max(dim=1)))


@settings(max_examples=30)
@given(st.sampled_from(VOCABULARIES), st.integers(1, 5), st.integers(0, 2**31))
def test_the_best_continuations_are_those_of_sorting_everything(
    vocab: int, beams: int, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    gains = torch.randn(3, beams, vocab, generator=generator)
    gains[:, :, ::3] = -torch.inf
    scores = torch.randn(3, beams, generator=generator)
    scores[1, 1:] = -torch.inf  # a sentence that has just begun
    values, beam, token = best_continuations(gains, scores, 2 * beams)
    expected = (gains + scores.unsqueeze(2)).flatten(1).sort(dim=1, descending=True).values
    assert torch.equal(values, expected[:, : 2 * beams])
    sentence = torch.arange(3).unsqueeze(1)
    assert torch.equal(values, scores.gather(1, beam) + gains[sentence, beam, token])


def test_all_alike_is_no_trap() -> None:
    """Ties may fall either way, but no continuation is named twice."""
    _, beam, token = best_continuations(torch.zeros(1, 2, 1024), torch.zeros(1, 2), 4)
    assert len(set(zip(beam[0].tolist(), token[0].tolist(), strict=True))) == 4


def test_fewer_continuations_than_asked_for_are_filled_up_with_none() -> None:
    gains = torch.tensor([[[0.5, -1.0, 2.0]]])
    values, beam, token = best_continuations(gains, torch.tensor([[1.0]]), 5)
    assert values.tolist() == [[3.0, 1.5, 0.0, -torch.inf, -torch.inf]]
    assert beam.tolist() == [[0] * 5] and token[0, :3].tolist() == [2, 0, 1]
