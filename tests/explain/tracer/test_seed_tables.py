"""A trace reproduces every row of the seeds' shape tables, for their modules and for ours."""

import re
from itertools import pairwise

import pytest
import torch
from torch import nn

from clearhead import blocks
from clearhead.explain import trace
from clearhead.explain.tracer import Trace
from clearhead.explain.tracer.axes import names, sizes
from tests.explain.tracer import seeds

BATCH, SEQ_LEN, D_MODEL, LONGEST, HEADS = 32, 100, 512, 5000, 8


def input_layers(module: object) -> Trace:
    """Embedding and positional encoding for 32 sentences of 100 tokens."""
    layers = nn.Sequential(
        module.InputEmbeddings(D_MODEL, 1000), module.PositionalEncoding(D_MODEL, LONGEST, 0.1)
    ).eval()
    return trace(layers, torch.zeros(BATCH, SEQ_LEN, dtype=torch.long))


def shape_cells(table: str) -> list[str]:
    cells = [line.split("|")[3].strip() for line in table.strip().splitlines()[2:]]
    return [cell.strip("`") for cell in cells if cell]


@pytest.mark.parametrize("module", [seeds, blocks], ids=["the seed's modules", "ours"])
def test_every_row_of_the_summary_table(module: object) -> None:
    found = input_layers(module)
    look_up, scale, cut, add = found.rows()
    assert [row.operation for row in found.rows()] == ["embedding", "mul", "getitem", "add"]
    rows = [
        look_up.inputs[0].shape,  # raw input
        look_up.outputs[0],  # nn.Embedding
        cut.inputs[0].shape,  # the position table
        add.inputs[0].shape,  # x from step 2
        cut.outputs[0],  # the slice
        add.outputs[0],  # the sum
    ]
    assert [names(shape) for shape in rows] == shape_cells(seeds.SUMMARY)
    assert [sizes(shape) for shape in rows] == [
        (32, 100), (32, 100, 512), (1, 5000, 512), (32, 100, 512), (1, 100, 512), (32, 100, 512),
    ]  # fmt: skip
    assert scale.output == names(look_up.outputs[0]), "scaling changes no shape"


def test_broadcasting_is_shown_for_each_dimension() -> None:
    assert input_layers(seeds).rows()[-1].stretched == [
        "batch: 1 → 32", "seq_len: 100 = 100", "d_model: 512 = 512",
    ]  # fmt: skip


def test_every_step_of_the_walk_through() -> None:
    rows = trace(seeds.PositionalEncoding, D_MODEL, LONGEST, 0.1).rows()
    for code, shape, numbers in seeds.SETUP:
        ends = "torch.exp(" if code == "div_term" else code
        row = next(
            r
            for r in rows
            if r.location and (r.location.code.endswith(code) or ends in r.location.code[:10])
        )
        assert (names(row.outputs[0]), sizes(row.outputs[0])) == (shape, numbers), code


def test_every_arrow_of_the_attention_block() -> None:
    block = seeds.MultiHeadAttentionBlock(D_MODEL, HEADS, 0.0).eval()
    x = torch.randn(2, 10, D_MODEL)
    found = trace(block, x, x, x, torch.ones(2, 1, 1, 10))
    run = [[*(names(o.shape) for o in row.inputs[:2]), row.output] for row in found.rows()]
    steps = [step for step in run if step]
    for line in seeds.ATTENTION.strip().splitlines():
        stations = re.findall(r"\([^()]*\)", line.partition("#")[2])
        if "@" in line:
            assert stations in steps, line
        for a, b in pairwise(stations):
            if "@" not in line:
                assert any(step[0] == a and step[-1] == b for step in steps), line
        assert any(step[-1] == stations[-1] for step in steps), line


def test_the_shapes_that_chapter_3_prints() -> None:
    found = trace(blocks.MultiHeadAttention(D_MODEL, HEADS), torch.randn(2, 10, D_MODEL))
    root = found.root
    shapes = [root.inputs[0].shape, *root.outputs]
    assert [sizes(shape) for shape in shapes] == list(seeds.CHAPTER_3.values())
    assert [names(shape) for shape in shapes] == [
        "(batch, seq_len, d_model)", "(batch, seq_len, d_model)", "(batch, h, seq_len, seq_len)",
    ]  # fmt: skip
