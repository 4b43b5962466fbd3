"""The readable losses are torch's, and the fused cross-entropy is the readable one."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.blocks import ProjectionLayer, TiedProjection
from clearhead.models import build_transformer
from clearhead.training.objective import cross_entropy, fused_cross_entropy, make_objective, r_drop

TOKENS, D_MODEL, VOCAB, SMOOTHING, CONSISTENCY = 14, 6, 11, 0.1, 3.0


def tied(bias: bool) -> TiedProjection:
    return TiedProjection(
        nn.Embedding(VOCAB, D_MODEL), nn.Parameter(torch.randn(VOCAB)) if bias else None
    )


PROJECTIONS = {
    "projection": lambda: ProjectionLayer(D_MODEL, VOCAB),
    "tied": lambda: tied(True),
    "tied without bias": lambda: tied(False),
}


def batch() -> tuple[Tensor, Tensor]:
    """Hidden states of two passes, and their labels."""
    torch.manual_seed(3)
    labels = torch.randint(VOCAB, (TOKENS // 2,)).repeat(2)
    return torch.randn(TOKENS, D_MODEL, dtype=torch.float64), labels


@pytest.mark.parametrize("smoothing", [0.0, SMOOTHING])
def test_the_readable_loss_is_cross_entropy_with_label_smoothing(smoothing: float) -> None:
    hidden, labels = batch()
    projection = ProjectionLayer(D_MODEL, VOCAB).double()
    loss, nll = cross_entropy(projection, hidden, labels, smoothing)
    logits = projection.logits(hidden)
    expected = F.cross_entropy(logits, labels, label_smoothing=smoothing, reduction="sum")
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(nll, F.cross_entropy(logits, labels, reduction="sum").detach())


def test_the_readable_r_drop_is_cross_entropy_and_both_divergences() -> None:
    hidden, labels = batch()
    projection = ProjectionLayer(D_MODEL, VOCAB).double()
    p, q = projection(hidden).chunk(2)
    there, back = (F.kl_div(a, b, reduction="sum", log_target=True) for a, b in ((q, p), (p, q)))
    plain, nll = cross_entropy(projection, hidden, labels, SMOOTHING)
    found = r_drop(projection, hidden, labels, SMOOTHING, CONSISTENCY)
    torch.testing.assert_close(found, (plain + CONSISTENCY / 2 * (there + back), nll))


@pytest.mark.parametrize("kind", PROJECTIONS)
def test_fused_is_readable_with_gradients(kind: str) -> None:
    hidden, labels = batch()
    found = []
    made = PROJECTIONS[kind]().double()
    for token_loss in (fused_cross_entropy, cross_entropy):
        projection, leaf = copy.deepcopy(made), hidden.clone().requires_grad_()
        loss, nll = token_loss(projection, leaf, labels, SMOOTHING)
        (0.7 * loss).backward()
        gradients = [p.grad for p in projection.parameters()]
        found.append([loss.detach(), nll, leaf.grad, *gradients])
    torch.testing.assert_close(*found, rtol=1e-10, atol=1e-10)


class LearnersProjection(ProjectionLayer):
    """Sharper than its matrix alone."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.log_softmax(2 * self.logits(x), dim=-1)


def test_a_learners_own_projection_is_called_by_both_engines() -> None:
    hidden, labels = batch()
    projection = LearnersProjection(D_MODEL, VOCAB).double()
    fused, readable = (
        token_loss(projection, hidden, labels, SMOOTHING)
        for token_loss in (fused_cross_entropy, cross_entropy)
    )
    torch.testing.assert_close(fused, readable, rtol=0, atol=0)


def test_the_sums_of_a_bfloat16_model_are_float32() -> None:
    hidden, labels = batch()
    projection = ProjectionLayer(D_MODEL, VOCAB)
    exact, _ = cross_entropy(projection, hidden.float(), labels, SMOOTHING)
    loss, nll = cross_entropy(projection.bfloat16(), hidden.bfloat16(), labels, SMOOTHING)
    assert loss.dtype == nll.dtype == torch.float32
    torch.testing.assert_close(loss, exact, rtol=1e-2, atol=0)


def test_each_side_is_padded_to_no_more_than_its_own_positions() -> None:
    model = build_transformer(11, 13, 40, 10, d_model=12, N=1, h=3, d_ff=20).eval()
    rows = np.full((2, 9), 5), np.full((2, 9), 6)
    lengths: list[int] = []
    for embed in (model.src_embed, model.tgt_embed):
        embed.register_forward_pre_hook(lambda _, inputs: lengths.append(inputs[0].shape[1]))
    make_objective(0.1, 0.0, length_multiple=8)(
        model, SimpleNamespace(source=rows[0], target=rows[1])
    )  # type: ignore[arg-type]
    assert lengths == [16, 10]
