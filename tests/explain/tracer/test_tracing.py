"""Watching: any module, nothing changed by it, and names that follow axes and not sizes."""

import pytest
import torch
from torch import Tensor, nn

from clearhead.blocks import MultiHeadAttentionBlock, decoder_mask, padding_mask
from clearhead.errors import UserError
from clearhead.explain import trace
from clearhead.explain.tracer.axis import names
from clearhead.fast import accelerate
from clearhead.models import Transformer, TransformerConfig

BATCH, SRC, TGT, VOCABULARY = 2, 7, 5, 31
Inputs = tuple[Tensor, Tensor, Tensor, Tensor]


def model(**sizes: int) -> Transformer:
    given = {"d_model": 12, "encoder_layers": 2, "decoder_layers": 3, "h": 3, "d_ff": 17} | sizes
    return Transformer.from_config(TransformerConfig(VOCABULARY, VOCABULARY, 16, 16, **given))


def batch(src_len: int = SRC, tgt_len: int = TGT, rows: int = BATCH) -> Inputs:
    src = torch.randint(3, VOCABULARY, (rows, src_len))
    tgt = torch.randint(3, VOCABULARY, (rows, tgt_len))
    return src, tgt, padding_mask(src, 0), decoder_mask(tgt, 0)


@pytest.mark.parametrize("training", [False, True], ids=["eval", "training, dropout awake"])
def test_a_watched_model_gives_the_same_bits_and_the_same_gradients(training: bool) -> None:
    network, inputs = model().train(training), batch()
    results = []
    for run in (network, lambda *given: trace(network, *given).output):
        torch.manual_seed(5)
        network.zero_grad()
        output = run(*inputs)
        output.square().sum().backward()
        results.append((output, [p.grad.clone() for p in network.parameters()]))
    (plain, plain_grads), (watched, watched_grads) = results
    assert torch.equal(plain, watched)
    assert all(map(torch.equal, plain_grads, watched_grads))


def test_nothing_of_the_watch_stays_behind() -> None:
    from torch.nn.modules import module as torch_modules

    network = model().eval()
    before = [{**vars(m)} for m in network.modules()]
    trace(network, *batch())
    trace(nn.Linear(4, 3), torch.randn(2, 5))  # breaks off
    assert not torch_modules._global_forward_hooks and not torch_modules._global_forward_pre_hooks
    for held, m in zip(before, network.modules(), strict=True):
        assert held.keys() == vars(m).keys()
        assert not m._forward_hooks and not m._forward_pre_hooks


def test_names_do_not_mind_sizes_that_are_equal() -> None:
    """Everything that can be 4 is 4: batch, heads, d_k and both lengths."""
    inputs = batch(src_len=4, tgt_len=4, rows=4)
    found = trace(model(d_model=16, h=4).eval(), *inputs)
    apart = trace(model(d_model=15, h=3).eval(), *batch())
    assert [row.arrow() for row in found.rows()] == [row.arrow() for row in apart.rows()]
    assert not [row for row in found.rows() if row.doubts]


def test_every_axis_of_a_transformer_has_its_name() -> None:
    alphabet = {
        "batch", "src_len", "tgt_len", "max_seq_len", "d_model", "h", "d_k", "d_ff", "vocab", "1",
    }  # fmt: skip
    found = trace(model().eval(), *batch())
    seen = {
        axis.label
        for row in found.rows()
        for shape in (*row.outputs, *(operand.shape for operand in row.inputs))
        for axis in shape
    }
    assert seen == alphabet


def test_cross_attention_keeps_the_two_lengths_apart() -> None:
    found = trace(model().eval(), *batch())
    block = found.find("decoder.layers.1.cross_attention_block")
    scores = next(row for _, row in block.walk() if row.what == "QKᵀ")
    assert scores.output == "(batch, h, tgt_len, src_len)"
    softmax = next(row for _, row in block.walk() if row.operation == "softmax")
    assert softmax.what == "softmax over src_len"


def test_a_mask_without_a_telling_name_belongs_to_the_keys_it_is_as_long_as() -> None:
    query, key = torch.randn(BATCH, TGT, 12), torch.randn(BATCH, SRC, 12)
    mask = torch.ones(BATCH, 1, 1, SRC, dtype=torch.bool)
    found = trace(MultiHeadAttentionBlock(12, 3, 0.0), query, key, key, mask)
    assert names(found.root.inputs[3].shape) == "(batch, 1, 1, src_len)"
    assert not [row for row in found.rows() if row.doubts]
    alone = trace(MultiHeadAttentionBlock(12, 3, 0.0), key, key, key, mask)
    assert names(alone.root.inputs[3].shape) == "(batch, 1, 1, seq_len)"


def test_the_steps_of_attention_in_order() -> None:
    x = torch.randn(BATCH, SRC, 12)
    rows = trace(MultiHeadAttentionBlock(12, 3, 0.0).eval(), x, x, x).rows()
    assert [row.what for row in rows] == [
        "project Q", "split heads: d_model → h·d_k", "swap seq_len and h",
        "project K", "split heads: d_model → h·d_k", "swap seq_len and h",
        "project V", "split heads: d_model → h·d_k", "swap seq_len and h",
        "swap seq_len and d_k", "QKᵀ", "scale ÷ 2 = √d_k", "softmax over seq_len", "weights × V",
        "swap h and seq_len", "join heads: h·d_k → d_model", "project the heads",
    ]  # fmt: skip


def test_every_row_says_where_it_is_written() -> None:
    for row in trace(model().eval(), *batch()).rows():
        assert row.place is not None and row.place.link.endswith(f".py#L{row.place.line}")
        assert "/clearhead/" in row.place.file and row.place.code


def test_the_outermost_row_points_to_where_the_forward_pass_begins() -> None:
    place = trace(model().eval(), *batch()).root.place
    assert place is not None and place.function == "forward"
    assert place.file.endswith("models/transformer.py")


def test_the_fast_twins_are_watched_as_well() -> None:
    network, inputs = accelerate(model().eval()), batch()
    with torch.no_grad():
        found = trace(network, *inputs)
        assert torch.equal(found.output, network(*inputs))
    assert found.root.output == "(batch, tgt_len, vocab)"


class Gpt(nn.Module):
    """Another author's habits: one projection for all three, other names, no d_k at all."""

    def __init__(self) -> None:
        super().__init__()
        self.n_head, self.n_embd = 3, 12
        self.qkv, self.out = nn.Linear(12, 36), nn.Linear(12, 12)

    def forward(self, x: Tensor) -> Tensor:
        B, T, C = x.size()
        q, k, v = self.qkv(x).split(self.n_embd, dim=2)
        q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in (q, k, v))
        future = torch.tril(torch.ones(T, T)).view(1, 1, T, T) == 0
        weights = (q @ k.mT).masked_fill(future, -torch.inf).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(B, T, C))


def test_another_authors_words_are_understood() -> None:
    rows = trace(Gpt(), torch.randn(BATCH, SRC, 12)).rows()
    outputs = {row.what: row.output for row in rows}
    assert outputs["QKᵀ"] == "(batch, h, seq_len, seq_len)"
    assert outputs["weights × V"] == "(batch, h, seq_len, d_k)"
    assert outputs["join heads: h·d_k → d_model"] == "(batch, seq_len, d_model)"


def test_modules_of_torch_itself() -> None:
    x = torch.randn(BATCH, SRC, 12)
    layer = trace(nn.TransformerEncoderLayer(12, 3, 20, batch_first=True).eval(), x)
    assert [names(shape) for shape in layer.root.outputs] == ["(batch, src_len, d_model)"]
    recurrent = trace(nn.LSTM(12, 8, batch_first=True), x)
    assert [names(shape) for shape in recurrent.root.outputs] == [
        "(batch, seq_len, hidden)",
        *["(layers, batch, hidden)"] * 2,
    ]
    assert trace(nn.Conv1d(12, 6, 3), x.mT).root.outputs[0][1].label == "out_channels"


def test_torchs_own_attention_shows_what_it_does_inside() -> None:
    """It joins the batch with the heads, and takes both apart again."""
    query, key = torch.randn(BATCH, TGT, 12), torch.randn(BATCH, SRC, 12)
    block = nn.MultiheadAttention(12, 3, batch_first=True)
    found = trace(block, query, key, key)
    outputs = {row.what: row.output for row in found.rows()}
    assert outputs["QKᵀ"] == "(batch·h, tgt_len, src_len)"
    assert outputs["softmax over src_len"] == "(batch·h, tgt_len, src_len)"
    assert [names(shape) for shape in found.root.outputs] == [
        "(batch, tgt_len, d_model)", "(batch, tgt_len, src_len)",
    ]  # fmt: skip
    assert torch.equal(found.output[0], block(query, key, key)[0])
    assert not [doubt for row in found.rows() for doubt in row.doubts]


def test_names_given_by_hand_count() -> None:
    found = trace(nn.Linear(6, 4), torch.randn(9, 5, 6), axes={"input": "cells genes d_model"})
    assert found.root.output.startswith("(cells, genes, ")


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"y": "batch d_model"}, "which is no tensor argument; choose from input"),
        ({"input": "batch"}, r"1 names \(batch\), but it has 2 axes"),
    ],
)
def test_names_that_do_not_fit_are_refused_in_one_line(axes: dict[str, str], message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        trace(nn.Linear(6, 4), torch.randn(9, 6), axes=axes)
    assert "\n" not in str(error.value)


def test_a_module_that_catches_its_own_error_is_traced_to_its_end() -> None:
    class Catches(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wide, self.narrow = nn.Linear(9, 2), nn.Linear(6, 2)

        def forward(self, x: Tensor) -> Tensor:
            try:
                return self.wide(x)
            except RuntimeError:
                return self.narrow(x)

    found = trace(Catches(), torch.randn(3, 6))
    assert found.mistake is None and found.output.shape == (3, 2)
    assert found.find("narrow").outputs
