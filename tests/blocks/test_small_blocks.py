"""Feed-forward, residual connections and projection: each is its formula."""

import torch
from torch import Tensor
from torch.nn import functional as F

from clearhead.blocks import (
    FeedForwardBlock,
    LayerNormalization,
    PostNormResidualConnection,
    ProjectionLayer,
    ResidualConnection,
)


def double(x: Tensor) -> Tensor:
    return 2 * x


def test_feed_forward_is_equation_2_at_every_position_alone() -> None:
    block = FeedForwardBlock(4, 7, 0.0).double()
    x = torch.randn(2, 3, 4).double()
    w1, b1, w2, b2 = (p.detach() for p in block.parameters())
    expected = torch.stack(
        [torch.stack([(w1 @ row + b1).clamp(min=0) @ w2.T + b2 for row in rows]) for rows in x]
    )
    torch.testing.assert_close(block(x).detach(), expected, atol=1e-12, rtol=0)


def test_pre_norm_adds_to_the_raw_input() -> None:
    residual = ResidualConnection(0.0)
    x = torch.randn(2, 3, 4)
    assert torch.equal(residual(x, double), x + 2 * LayerNormalization()(x))


def test_post_norm_normalizes_the_sum() -> None:
    residual = PostNormResidualConnection(0.0)
    x = torch.randn(2, 3, 4)
    assert torch.equal(residual(x, double), LayerNormalization()(x + 2 * x))


def test_a_silent_sublayer_leaves_a_pre_norm_input_untouched() -> None:
    x = torch.randn(2, 3, 4)
    assert torch.equal(ResidualConnection(0.9)(x, torch.zeros_like), x)


def test_projection_gives_log_probabilities_of_its_logits() -> None:
    layer = ProjectionLayer(4, 9).double()
    x = torch.randn(2, 3, 4).double()
    log_probabilities = layer(x)
    assert log_probabilities.shape == (2, 3, 9)
    torch.testing.assert_close(log_probabilities.exp().sum(-1), torch.ones(2, 3).double())
    torch.testing.assert_close(log_probabilities, layer.logits(x).log_softmax(-1))


def test_cross_entropy_takes_logits_and_log_probabilities_alike() -> None:
    layer = ProjectionLayer(4, 9).double()
    x, labels = torch.randn(6, 4).double(), torch.arange(6)
    torch.testing.assert_close(
        F.cross_entropy(layer(x), labels), F.cross_entropy(layer.logits(x), labels)
    )
