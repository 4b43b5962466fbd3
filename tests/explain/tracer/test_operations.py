"""Every traced operation gives the same result and propagates the right names."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.explain import trace
from clearhead.explain.tracer.axes import names, sizes
from clearhead.explain.tracer.model_axes import tensors_in

BATCH, SEQ, WIDTH = 2, 5, 6
AXES = {"x": "batch seq_len d_model"}

# An operation on x (batch, seq_len, d_model), and the axis names of its first result.
PROPAGATED: list[tuple[Callable[[Tensor], Any], str]] = [
    (lambda x: x.permute(0, 2, 1), "(batch, d_model, seq_len)"),
    (lambda x: x.permute((2, 0, 1)), "(d_model, batch, seq_len)"),
    (lambda x: torch.swapaxes(x, 0, -1), "(d_model, seq_len, batch)"),
    (lambda x: x.movedim(0, 1), "(seq_len, batch, d_model)"),
    (lambda x: torch.transpose(input=x, dim0=0, dim1=1), "(seq_len, batch, d_model)"),
    (lambda x: x.mT, "(batch, d_model, seq_len)"),
    (lambda x: x[0].T, "(d_model, seq_len)"),
    (lambda x: x[:, 0], "(batch, d_model)"),
    (lambda x: x[..., 0], "(batch, seq_len)"),
    (lambda x: x[..., None, :], "(batch, seq_len, 1, d_model)"),
    (lambda x: x[:, -1:], "(batch, 1, d_model)"),
    (lambda x: x[:, ::2], "(batch, seq_len/2, d_model)"),
    (lambda x: x.select(1, 2), "(batch, d_model)"),
    (lambda x: x.unbind(1)[0], "(batch, d_model)"),
    (lambda x: x.unsqueeze(-1), "(batch, seq_len, d_model, 1)"),
    (lambda x: x[:, :1].squeeze(1), "(batch, d_model)"),
    (lambda x: x.flatten(), "(batch·seq_len·d_model)"),
    (lambda x: x.flatten(0, 1), "(batch·seq_len, d_model)"),
    (lambda x: x.view(-1, x.size(-1)), "(batch·seq_len, d_model)"),
    (lambda x: x.reshape(x.shape), "(batch, seq_len, d_model)"),
    (lambda x: x.view(*x.shape[:2], 3, 2).flatten(2), "(batch, seq_len, 3·2)"),
    (lambda x: x.view(x.size(0) * x.size(1), 3, 2).flatten(1), "(batch·seq_len, 3·2)"),
    (lambda x: x.permute(1, 0, 2).reshape(x.size(1), -1, 2), "(seq_len, batch·3, 2)"),
    (lambda x: x.unflatten(2, (3, 2)), "(batch, seq_len, 3, 2)"),
    (lambda x: x[:, :1].expand(-1, 4, -1), "(batch, 4, d_model)"),
    (lambda x: x.mean(1), "(batch, d_model)"),
    (lambda x: x.sum(dim=(1, 2)), "(batch)"),
    (lambda x: x.mean(-1, keepdim=True), "(batch, seq_len, 1)"),
    (lambda x: x.max(dim=1), "(batch, d_model)"),
    (lambda x: x.argmax(-1), "(batch, seq_len)"),
    (lambda x: torch.linalg.vector_norm(x, dim=-1), "(batch, seq_len)"),
    (lambda x: x @ x.mT, "(batch, seq_len, seq_len)"),
    (lambda x: torch.bmm(x, x.transpose(1, 2)), "(batch, seq_len, seq_len)"),
    (lambda x: x @ x[0, 0], "(batch, seq_len)"),
    (lambda x: torch.einsum("bnd,bmd->nm", x, x), "(seq_len, seq_len)"),
    (lambda x: torch.outer(x[0, 0], x[0, :, 0]), "(d_model, seq_len)"),
    (lambda x: F.scaled_dot_product_attention(x, x[:, :3], x[:, :3]), "(batch, seq_len, d_model)"),
    (lambda x: F.layer_norm(x, x.shape[-1:]), "(batch, seq_len, d_model)"),
    (lambda x: torch.where(x > 0, x, x[:1]), "(batch, seq_len, d_model)"),
    (lambda x: 1 - 2 * x / 3, "(batch, seq_len, d_model)"),
    (lambda x: x.cumsum(1).roll(1, 1).flip(1), "(batch, seq_len, d_model)"),
    (lambda x: torch.cat([x, x], dim=-1), "(batch, seq_len, 2·d_model)"),
    (lambda x: torch.stack([x, x], dim=1), "(batch, 2, seq_len, d_model)"),
    (lambda x: x.chunk(2, dim=-1), "(batch, seq_len, d_model/2)"),
    (lambda x: torch.cat(x.chunk(2, dim=-1), dim=-1), "(batch, seq_len, d_model)"),
    (lambda x: x.split([1, 4], dim=1), "(batch, 1, d_model)"),
    (lambda x: x.topk(3, dim=1), "(batch, 3, d_model)"),
    (lambda x: torch.zeros_like(x), "(batch, seq_len, d_model)"),
    (lambda x: x.masked_fill_(x > 0, 0), "(batch, seq_len, d_model)"),
    (lambda x: torch.tril(torch.ones(x.size(1), x.size(1))), "(seq_len, seq_len)"),
]

# Only the sizes of these results are certain; the model must run on.
UNUSUAL: list[Callable[[Tensor], Any]] = [
    lambda x: x[x > 0],
    lambda x: x[[0, 1, 1]],
    lambda x: x[:, torch.tensor([0, 2])],
    lambda x: x.gather(1, torch.zeros(2, 3, 6, dtype=torch.long)),
    lambda x: F.pad(x, (1, 2)),
    lambda x: x.repeat(1, 2, 1),
    lambda x: torch.tensordot(x, x, dims=([0, 1], [0, 1])),
    lambda x: F.one_hot(x.argmax(-1), 7),
    lambda x: x.view(torch.int32),
    lambda x: torch.meshgrid(x[0, 0], x[0, :, 0], indexing="ij"),
    lambda x: x.sort(dim=1),
    lambda x: torch.fft.fft(x).abs(),
    lambda x: F.unfold(x[:, None], 2),
    lambda x: x.squeeze().sum(),
    lambda x: x.unique(),
    lambda x: torch.autograd.grad(x.requires_grad_().sum(), x),
    lambda x: torch.vmap(lambda row: row.T @ row)(x),
    lambda x: torch.einsum("...d->...", x),
    lambda x: [{"y": x + 1}, (x, None)],
]


@pytest.mark.parametrize(("operation", "wanted"), PROPAGATED, ids=[w for _, w in PROPAGATED])
def test_names_are_propagated(operation: Callable[[Tensor], Any], wanted: str) -> None:
    data = torch.randn(BATCH, SEQ, WIDTH)
    found = trace(operation, data.clone(), axes=AXES)
    assert names(found.root.outputs[0]) == wanted
    for shown, plain in zip(tensors_in(found.output), tensors_in(operation(data)), strict=True):
        assert torch.equal(shown, plain)


@pytest.mark.parametrize("operation", UNUSUAL, ids=range(len(UNUSUAL)))
def test_an_unusual_operation_runs_and_its_sizes_are_shown(
    operation: Callable[[Tensor], Any],
) -> None:
    data = torch.randn(BATCH, SEQ, WIDTH)
    found = trace(operation, data.clone())
    plain = tensors_in(operation(data))
    assert [sizes(shape) for shape in found.root.outputs] == [tuple(t.shape) for t in plain]
    assert all(map(torch.equal, tensors_in(found.output), plain))
    assert found.mistake is None and str(found) and found.to_html()


class Cached(nn.Module):
    """A length of 8, which is also the number of heads."""

    def __init__(self) -> None:
        super().__init__()
        self.h = 8

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        grown = torch.cat([x[:, :7], x[:, :1]], dim=1)
        return x.chunk(2, dim=1)[0], grown, *x.topk(8)


class Adds(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + x.neg()


@pytest.mark.parametrize(
    ("name", "positional"),
    [
        ("pos", True), ("src_pos", True), ("positional_encoding", True), ("position_ffn", False),
        ("pos_ffn", False), ("positionwise_feed_forward", False), ("post_norm", False),
    ],
)  # fmt: skip
def test_only_a_module_for_positions_adds_a_positional_encoding(
    name: str, positional: bool
) -> None:
    found = trace(nn.Sequential(OrderedDict({name: Adds()})), torch.randn(BATCH, SEQ, WIDTH))
    assert found.rows()[-1].what == ("add positional encoding" if positional else "add")


def test_a_length_that_equals_the_number_of_heads_is_not_called_h() -> None:
    rows = trace(Cached(), torch.randn(2, 16, 32)).rows()
    labels = {axis.label for row in rows for shape in row.outputs for axis in shape}
    assert "h" not in labels and "seq_len/2" in labels


@pytest.mark.parametrize(
    ("function", "formula"),
    [
        (lambda x: x.var(-1), "y = Σ_d_model (x − mean)² / (d_model − 1)"),
        (lambda x: x.var(-1, unbiased=False), "y = Σ_d_model (x − mean)² / d_model"),
        (lambda x: x.var(-1, False), "y = Σ_d_model (x − mean)² / d_model"),
        (lambda x: x.std(-1, correction=0), "y = √(Σ_d_model (x − mean)² / d_model)"),
        (lambda x: torch.pow(10000, x), "y = 1e+04 ^ x"),
        (lambda x: x.pow(2), "y = x ^ 2"),
        (lambda x: x.sum(-1, True, dtype=torch.float64), "y = Σ_d_model x"),
    ],
)
def test_formulas_are_those_of_the_call(function: Any, formula: str) -> None:
    (row,) = trace(function, torch.randn(2, 3, 32)).rows()
    assert row.formula == formula
