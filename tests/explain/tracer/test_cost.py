"""The costs in a trace agree with torch's counter and with plain sums."""

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from clearhead.explain import trace
from clearhead.explain.tracer.examples import trace_sizes
from clearhead.models import TransformerConfig, count_parameters
from tests.explain.tracer.test_tracing import batch, model

x = torch.randn(2, 7, 12)
MODULES = {
    "linear": (nn.Linear(12, 5), (x,)),
    "torch's attention": (nn.MultiheadAttention(12, 3, batch_first=True), (x, x[:, :4], x[:, :4])),
    "torch's layer": (nn.TransformerEncoderLayer(12, 3, 20, batch_first=True), (x,)),
    "convolution": (nn.Conv1d(7, 3, 2), (x,)),
}


@pytest.mark.parametrize("name", MODULES)
def test_flops_agree_with_torchs_counter(name: str) -> None:
    module, inputs = MODULES[name]
    with FlopCounterMode(display=False) as counter:
        module(*inputs)
    assert trace(module, *inputs).root.products == counter.get_total_flops() > 0


def test_flops_of_a_transformer_agree_with_torchs_counter() -> None:
    network, inputs = model().eval(), batch()
    with FlopCounterMode(display=False) as counter:
        network(*inputs)
    assert trace(network, *inputs).root.products == counter.get_total_flops() > 0


def test_flops_of_other_product_functions_agree_with_torchs_counter() -> None:
    def products(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        heads = torch.einsum("bnd,bmd->bnm", a, b) + torch.bmm(a, b.mT)
        return torch.addmm(heads[0], a[0], b[0].T) + a[0] @ b[0].T

    a, b = torch.randn(2, 7, 12), torch.randn(2, 5, 12)
    with FlopCounterMode(display=False) as counter:
        products(a, b)
    assert trace(products, a, b).root.products == counter.get_total_flops() > 0


def test_einsum_multiplies_its_factors_from_the_left() -> None:
    """With an ellipsis, and with three factors: (n d)(d e) -> n e, then (n e)(e m)."""
    a, b = torch.randn(3, 2, 7, 12), torch.randn(3, 2, 5, 12)
    dots = trace(lambda a, b: torch.einsum("...nd, ...md -> ...nm", a, b), a, b)
    assert dots.root.products == 2 * 3 * 2 * 7 * 5 * 12
    x, y, z = torch.randn(2, 3), torch.randn(3, 5), torch.randn(5, 7)
    chain = trace(lambda x, y, z: torch.einsum("nd,de,em->nm", x, y, z), x, y, z)
    assert chain.root.products == 2 * 2 * 3 * 5 + 2 * 2 * 5 * 7


GATES = {nn.LSTM: 4, nn.GRU: 3, nn.RNN: 1}


@pytest.mark.parametrize("kind", GATES, ids=lambda kind: kind.__name__)
def test_a_recurrent_layer_multiplies_by_its_matrices_at_every_step(kind: type[nn.RNNBase]) -> None:
    layer = kind(12, 5, num_layers=2, bidirectional=True, batch_first=True)
    matrices = sum(p.numel() for p in layer.parameters() if p.dim() == 2)
    biases = sum(p.numel() for p in layer.parameters() if p.dim() == 1)
    formula = {nn.LSTM: 13, nn.GRU: 11, nn.RNN: 2}[kind]
    root = trace(layer, x).root
    assert root.products == 2 * 2 * 7 * matrices
    assert root.elementwise == 2 * 7 * (biases + formula * 2 * 2 * 5)


ROWS, N = 2 * 7, 12
COUNTS = {
    "add": (lambda x: x + x, ROWS * N),
    "a constant on the left": (lambda x: 1 - 2 * x, 2 * ROWS * N),
    "mean": (lambda x: x.mean(-1), ROWS * N),
    "sum": (lambda x: x.sum(-1), ROWS * (N - 1)),
    "std": (lambda x: x.std(-1), ROWS * (4 * N + 1)),
    "softmax": (lambda x: x.softmax(-1), ROWS * (5 * N - 2)),
    "softmax over another axis": (lambda x: torch.softmax(x, dim=1), 2 * N * (5 * 7 - 2)),
    "log_softmax": (lambda x: x.log_softmax(-1), ROWS * (5 * N - 1)),
    "max of two": (lambda x: torch.max(x, x), ROWS * N),
    "a bias": (nn.Linear(N, 5), ROWS * 5),
    "layer norm": (nn.LayerNorm(N), ROWS * (7 * N + 2)),
    "dropout": (nn.Dropout(0.5), 2 * ROWS * N),
    "views, copies, masks": (
        lambda x: x.mT.contiguous().masked_fill(torch.ones(N, 7, dtype=torch.bool), 0), 0),
    "ids": (lambda x: torch.arange(5) + 1, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", COUNTS)
def test_other_arithmetic_counts_one_for_each_element(name: str) -> None:
    module, expected = COUNTS[name]
    assert trace(module, x).root.elementwise == expected


@pytest.mark.parametrize(
    ("cell", "layer"),
    [(nn.LSTMCell, nn.LSTM), (nn.GRUCell, nn.GRU), (nn.RNNCell, nn.RNN)],
)
def test_a_recurrent_cell_costs_what_its_layer_costs_in_one_step(
    cell: type[nn.Module], layer: type[nn.Module]
) -> None:
    one, step = trace(cell(6, 8), torch.randn(3, 6)).root, trace(layer(6, 8), torch.randn(1, 3, 6))
    assert one.products > 0
    assert (one.products, one.elementwise) == (step.root.products, step.root.elementwise)


def test_torchs_rms_norm_costs_what_its_formula_costs() -> None:
    norm = nn.RMSNorm(12, eps=1e-6)
    written = trace(
        lambda x: x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * norm.weight, x
    )
    assert trace(norm, x).root.flops == written.root.flops > 0


@pytest.mark.parametrize(("training", "each"), [(True, 7), (False, 4)])
def test_a_batch_norm_counts_its_statistics_in_training_only(training: bool, each: int) -> None:
    """Mean, subtraction, squares, their mean, division, gain, bias; + eps and √ for a channel."""
    found = trace(nn.BatchNorm1d(6).train(training), torch.randn(3, 6, 5))
    assert found.root.flops == each * 3 * 6 * 5 + 2 * 6


@pytest.mark.parametrize("shape", [(2, 3, 7, 4), (3, 7, 4), (7, 4), (2, 3, 5, 7, 4)])
def test_fused_and_readable_attention_cost_the_same(shape: tuple[int, ...]) -> None:
    q = torch.randn(shape)

    def readable(q: torch.Tensor) -> torch.Tensor:
        return (q @ q.mT * 0.5).softmax(-1) @ q

    def fused(q: torch.Tensor) -> torch.Tensor:
        return nn.functional.scaled_dot_product_attention(q, q, q)

    one, other = trace(readable, q).root, trace(fused, q).root
    assert (one.products, one.elementwise) == (other.products, other.elementwise)


def test_a_view_takes_no_memory_and_a_copy_takes_its_own() -> None:
    def steps(x: torch.Tensor) -> torch.Tensor:
        return x.transpose(1, 2).contiguous().double()

    view, copy, wide = trace(steps, x).rows()
    assert (view.bytes, copy.bytes, wide.bytes) == (0, x.numel() * 4, x.numel() * 8)


def test_parameters_are_counted_once_and_in_their_blocks() -> None:
    found = trace(model().eval(), *batch())
    network = model()
    assert found.root.parameters == count_parameters(network)
    assert found.find("decoder").parameters == count_parameters(network.decoder)
    norm = found.find("encoder.norm")
    assert sum(row.parameters for row in norm.children) == norm.parameters == 24


def test_a_function_has_the_parameters_of_the_modules_that_it_runs() -> None:
    network, (src, tgt, src_mask, _) = model().eval(), batch()
    encoded = trace(network.encode, src, src_mask).root
    parts = network.src_embed, network.encoder
    assert encoded.parameters == sum(map(count_parameters, parts))
    twice = trace(lambda x: network(x, tgt, None, None) + network(x, tgt, None, None), src).root
    assert twice.parameters == count_parameters(network)


def test_the_costs_of_a_block_are_the_sums_over_its_rows() -> None:
    for _, row in trace(model().eval(), *batch()).root.walk():
        if row.children:
            assert row.products == sum(child.products for child in row.children)
            assert row.elementwise == sum(child.elementwise for child in row.children)
            assert row.bytes == sum(child.bytes for child in row.children)


def test_a_large_model_is_traced_on_the_meta_device() -> None:
    big = TransformerConfig.preset("big", 37_000)
    small, large = trace_sizes(big, 2, 10, 7), trace_sizes(big, 512, 300, 200)
    names = [[row.arrow() for row in found.rows()] for found in (small, large)]
    assert names[0] == names[1]
    assert large.output.device.type == "meta" and large.output.shape == (512, 200, 37_000)
