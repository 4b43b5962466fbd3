import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from clearhead.fast.block_topk import BLOCK
from clearhead.fast.packed_linear import PlainLinear
from clearhead.fast.screened_argmax import CANDIDATES, ScreenedArgmax

ROWS, WIDTH, VOCABULARY = 37, 48, 1000  # no whole number of blocks


def screen(weight: Tensor, bias: Tensor) -> ScreenedArgmax:
    return ScreenedArgmax(weight, bias, PlainLinear(weight, bias))


def nothing(logits: Tensor) -> None:
    """No ban."""


def test_looking_twice_finds_the_largest_logit_of_all() -> None:
    weight, bias = torch.randn(VOCABULARY, WIDTH), torch.randn(VOCABULARY)
    found = screen(weight, bias)
    for _ in range(10):
        x = torch.randn(ROWS, WIDTH)
        assert torch.equal(found(x, nothing), F.linear(x, weight, bias).argmax(dim=1))
    assert found.proved > 0.5 * found.rows


def test_the_error_is_never_larger_than_its_bound() -> None:
    weight, bias = torch.randn(VOCABULARY, WIDTH), torch.randn(VOCABULARY)
    weight[5] *= 30  # one loud word
    found, x = screen(weight, bias), torch.randn(ROWS, WIDTH)
    error = (found.roughly(x)[:, :VOCABULARY] - F.linear(x, weight, bias)).abs()
    assert (error <= found._error(x).unsqueeze(1) + 1e-4).all()


def test_where_nothing_is_proved_everything_is_computed() -> None:
    """More words of nearly one logit than there are candidates."""
    alike = torch.randn(1, WIDTH).expand(VOCABULARY, WIDTH)
    weight = alike + 1e-4 * torch.randn(VOCABULARY, WIDTH)
    found, x = screen(weight, torch.zeros(VOCABULARY)), torch.randn(ROWS, WIDTH)
    assert torch.equal(found(x, nothing), F.linear(x, weight).argmax(dim=1))
    assert found.proved < found.rows


def test_what_is_banned_is_never_chosen() -> None:
    weight, bias = torch.randn(VOCABULARY, WIDTH), torch.randn(VOCABULARY)
    x = torch.randn(ROWS, WIDTH)
    logits = F.linear(x, weight, bias)
    allowed = torch.tensor([7, 70, 700])
    assert len(allowed) < CANDIDATES

    def ban(logits: Tensor) -> None:
        kept = logits[:, allowed].clone()
        logits.fill_(-torch.inf)
        logits[:, allowed] = kept

    assert torch.equal(screen(weight, bias)(x, ban), allowed[logits[:, allowed].argmax(dim=1)])


@pytest.mark.parametrize("vocabulary", [960, 1000])
def test_words_that_only_fill_up_a_block_are_never_chosen(vocabulary: int) -> None:
    weight, x = torch.randn(vocabulary, WIDTH), torch.randn(ROWS, WIDTH)
    bias = torch.full((vocabulary,), -1e4)  # far below the nothing of a missing word
    found = screen(weight, bias)
    assert torch.equal(found(x, nothing), F.linear(x, weight, bias).argmax(dim=1))
    assert found.roughly(x).shape[1] % BLOCK == 0
