"""What a trace says an operation costs, held against torch's own counter and plain sums."""

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from clearhead.explain import trace
from clearhead.explain.tracer.example import trace_sizes
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
def test_flops_are_those_of_torchs_counter(name: str) -> None:
    module, inputs = MODULES[name]
    with FlopCounterMode(display=False) as counter:
        module(*inputs)
    assert trace(module, *inputs).root.flops == counter.get_total_flops() > 0


def test_flops_of_a_whole_transformer_are_those_of_torchs_counter() -> None:
    network, inputs = model().eval(), batch()
    with FlopCounterMode(display=False) as counter:
        network(*inputs)
    assert trace(network, *inputs).root.flops == counter.get_total_flops() > 0


def test_flops_of_products_written_in_other_ways() -> None:
    def products(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        heads = torch.einsum("bnd,bmd->bnm", a, b) + torch.bmm(a, b.mT)
        return torch.addmm(heads[0], a[0], b[0].T) + a[0] @ b[0].T

    a, b = torch.randn(2, 7, 12), torch.randn(2, 5, 12)
    with FlopCounterMode(display=False) as counter:
        products(a, b)
    assert trace(products, a, b).root.flops == counter.get_total_flops() > 0


def test_a_view_takes_no_memory_and_a_copy_takes_its_own() -> None:
    def steps(x: torch.Tensor) -> torch.Tensor:
        return x.transpose(1, 2).contiguous().double()

    view, copy, wide = trace(steps, x).rows()
    assert (view.bytes, copy.bytes, wide.bytes) == (0, x.numel() * 4, x.numel() * 8)


def test_parameters_are_counted_once_in_blocks_and_shown_where_they_work() -> None:
    found = trace(model().eval(), *batch())
    network = model()
    assert found.root.parameters == count_parameters(network)
    assert found.find("decoder").parameters == count_parameters(network.decoder)
    norm = found.find("encoder.norm")
    assert sum(row.parameters for row in norm.children) == norm.parameters == 24


def test_a_block_sums_its_rows() -> None:
    for _, row in trace(model().eval(), *batch()).root.walk():
        if row.children:
            assert row.flops == sum(child.flops for child in row.children)
            assert row.bytes == sum(child.bytes for child in row.children)


def test_a_large_model_costs_no_memory_and_its_trace_no_arithmetic() -> None:
    big = TransformerConfig.preset("big", 37_000)
    small, large = trace_sizes(big, 2, 10, 7), trace_sizes(big, 512, 300, 200)
    names = [[row.arrow() for row in found.rows()] for found in (small, large)]
    assert names[0] == names[1]
    assert large.output.device.type == "meta" and large.output.shape == (512, 200, 37_000)
