"""The curves are their formulas, and the block is the paper's with another curve."""

import math
from functools import partial

import pytest
import torch

from clearhead.blocks import ACTIVATIONS, ActivatedFeedForwardBlock, FeedForwardBlock
from clearhead.blocks.variants.activations import Activation

NUMBERS = [-30.0, -3.0, -0.7, -1e-3, 0.0, 1e-3, 0.5, 2.0, 30.0]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def gelu(x: float) -> float:
    return x * (1 + math.erf(x / math.sqrt(2))) / 2


def tanh_gelu(x: float) -> float:
    return x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


FORMULAS = {
    "relu": lambda x: max(0.0, x), "gelu": gelu, "gelu_new": tanh_gelu,
    "gelu_pytorch_tanh": tanh_gelu, "silu": lambda x: x * sigmoid(x),
    "swish": lambda x: x * sigmoid(x),
}  # fmt: skip


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_a_curve_is_its_formula(name: str) -> None:
    found = ACTIVATIONS[name](torch.tensor(NUMBERS, dtype=torch.float64))
    expected = torch.tensor([FORMULAS[name](x) for x in NUMBERS], dtype=torch.float64)
    torch.testing.assert_close(found, expected, atol=1e-12, rtol=0)


def test_the_two_gelus_are_apart_by_less_than_the_docstring_says_and_more_than_noise() -> None:
    x = torch.linspace(-6, 6, 10_001, dtype=torch.float64)
    apart = (ACTIVATIONS["gelu"](x) - ACTIVATIONS["gelu_new"](x)).abs().max()
    assert 4e-4 < apart < 5e-4


def test_with_the_papers_curve_it_is_the_papers_block() -> None:
    block = ActivatedFeedForwardBlock(6, 11, 0.0, torch.relu).double()
    papers = FeedForwardBlock(6, 11, 0.0).double()
    papers.load_state_dict(block.state_dict())
    x = torch.randn(2, 5, 6, dtype=torch.float64)
    assert torch.equal(block(x), papers(x))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_the_curve_stands_between_the_matrices(name: str) -> None:
    block = ActivatedFeedForwardBlock(6, 11, 0.0, ACTIVATIONS[name]).double()
    x = torch.randn(2, 5, 6, dtype=torch.float64)
    inner = ACTIVATIONS[name](x @ block.linear_1.weight.T + block.linear_1.bias)
    expected = inner @ block.linear_2.weight.T + block.linear_2.bias
    torch.testing.assert_close(block(x), expected, atol=1e-12, rtol=0)


@pytest.mark.parametrize(
    ("activation", "shown"),
    [
        (ACTIVATIONS["gelu"], "activation=gelu"),
        (torch.nn.GELU(), "activation=GELU("),
        (partial(torch.nn.functional.gelu, approximate="tanh"), "approximate='tanh'"),
    ],
    ids=["function", "module", "partial"],
)
def test_any_activation_can_be_printed(activation: Activation, shown: str) -> None:
    assert shown in repr(ActivatedFeedForwardBlock(6, 11, 0.0, activation))
