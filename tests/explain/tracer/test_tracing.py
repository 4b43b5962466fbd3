"""Tracing changes nothing, works for any module, and names follow axes, not sizes."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor, nn

from clearhead.blocks import MultiHeadAttentionBlock, decoder_mask, padding_mask
from clearhead.errors import UserError
from clearhead.explain import trace
from clearhead.explain.tracer.axes import names
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


@pytest.mark.parametrize("training", [False, True], ids=["eval", "training with dropout"])
def test_traced_outputs_and_gradients_are_bit_identical(training: bool) -> None:
    network, inputs = model().train(training), batch()
    results = []
    for run in (network, lambda *given: trace(network, *given).output):
        torch.manual_seed(5)
        network.zero_grad()
        output = run(*inputs)
        output.square().sum().backward()
        results.append((output, [p.grad.clone() for p in network.parameters()]))
    (plain, plain_grads), (traced, traced_grads) = results
    assert torch.equal(plain, traced)
    assert all(map(torch.equal, plain_grads, traced_grads))


def test_tracing_leaves_no_hooks_and_no_attributes() -> None:
    from torch.nn.modules import module as torch_modules

    network = model().eval()
    before = [{**vars(m)} for m in network.modules()]
    trace(network, *batch())
    trace(nn.Linear(4, 3), torch.randn(2, 5))  # breaks off
    assert not torch_modules._global_forward_hooks and not torch_modules._global_forward_pre_hooks
    for held, m in zip(before, network.modules(), strict=True):
        assert held.keys() == vars(m).keys()
        assert not m._forward_hooks and not m._forward_pre_hooks


def test_equal_sizes_do_not_confuse_names() -> None:
    """Everything that can be 4 is 4: batch, heads, d_k and both lengths."""
    inputs = batch(src_len=4, tgt_len=4, rows=4)
    found = trace(model(d_model=16, h=4).eval(), *inputs)
    apart = trace(model(d_model=15, h=3).eval(), *batch())
    assert [row.arrow() for row in found.rows()] == [row.arrow() for row in apart.rows()]
    assert not [row for row in found.rows() if row.doubts]


class SplitsAsNanoGpt(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n_head, self.n_embd = 4, 16

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.size()
        k = x.view(batch, length, self.n_head, width // self.n_head).transpose(1, 2)
        q = x.view(batch, length, self.n_head, -1).transpose(1, 2)
        return q @ k.transpose(-2, -1) / k.size(-1) ** 0.5


def test_a_part_without_a_name_is_not_called_h_where_the_code_names_h() -> None:
    found = trace(SplitsAsNanoGpt(), torch.randn(2, 7, 16))
    outputs = {row.what: row.output for row in found.rows()}
    assert outputs["split heads: d_model → h·d_k"] == "(batch, seq_len, h, d_k)"
    assert outputs["QKᵀ"] == outputs["scale ÷ 2"] == "(batch, h, seq_len, seq_len)"


def test_scores_are_divided_by_the_root_of_d_k_also_where_it_equals_h() -> None:
    x = torch.randn(2, 7, 16)
    done = [row.what for row in trace(MultiHeadAttentionBlock(16, 4, 0.0), x, x, x).rows()]
    assert "scale ÷ 2 = √d_k" in done


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


def test_a_mask_of_the_length_of_the_keys_has_their_axis() -> None:
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
        "project Q", "split heads: d_model → h·d_k", "transpose seq_len and h",
        "project K", "split heads: d_model → h·d_k", "transpose seq_len and h",
        "project V", "split heads: d_model → h·d_k", "transpose seq_len and h",
        "transpose seq_len and d_k", "QKᵀ", "scale ÷ 2 = √d_k", "softmax over seq_len",
        "weights × V", "transpose h and seq_len", "concatenate heads: h·d_k → d_model",
        "output projection",
    ]  # fmt: skip


def test_every_row_has_its_source_location() -> None:
    for row in trace(model().eval(), *batch()).rows():
        assert row.location is not None and row.location.link.endswith(f".py#L{row.location.line}")
        assert "/clearhead/" in row.location.file and row.location.code


def test_the_outermost_row_is_located_at_the_forward_method() -> None:
    place = trace(model().eval(), *batch()).root.location
    assert place is not None and place.function == "forward"
    assert place.file.endswith("models/transformer.py")


def test_an_accelerated_model_is_traced() -> None:
    network, inputs = accelerate(model().eval()), batch()
    with torch.no_grad():
        found = trace(network, *inputs)
        assert torch.equal(found.output, network(*inputs))
    assert found.root.output == "(batch, tgt_len, vocab)"


class Gpt(nn.Module):
    """Code in another style: one projection for q, k and v, other names, no d_k."""

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


def test_other_names_for_the_same_axes_are_understood() -> None:
    rows = trace(Gpt(), torch.randn(BATCH, SRC, 12)).rows()
    outputs = {row.what: row.output for row in rows}
    assert outputs["QKᵀ"] == "(batch, h, seq_len, seq_len)"
    assert outputs["weights × V"] == "(batch, h, seq_len, d_k)"
    assert outputs["concatenate heads: h·d_k → d_model"] == "(batch, seq_len, d_model)"


def test_modules_of_torch_are_traced() -> None:
    x = torch.randn(BATCH, SRC, 12)
    layer = trace(nn.TransformerEncoderLayer(12, 3, 20, batch_first=True).eval(), x)
    assert [names(shape) for shape in layer.root.outputs] == ["(batch, src_len, d_model)"]
    recurrent = trace(nn.LSTM(12, 8, batch_first=True), x)
    assert [names(shape) for shape in recurrent.root.outputs] == [
        "(batch, seq_len, hidden)",
        *["(layers, batch, hidden)"] * 2,
    ]
    assert trace(nn.Conv1d(12, 6, 3), x.mT).root.outputs[0][1].label == "out_channels"


def test_the_layers_of_torch_have_the_batch_at_axis_1_by_default() -> None:
    x, memory = torch.randn(SRC, BATCH, 12), torch.randn(TGT, BATCH, 12)
    layer = nn.TransformerEncoderLayer(12, 3, 20)
    for module in (layer, nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)):
        assert trace(module.eval(), x).root.arrow() == (
            "(src_len, batch, d_model) → (src_len, batch, d_model)"
        )
    decoder = trace(nn.TransformerDecoderLayer(12, 3, 20).eval(), x, memory)
    assert decoder.root.arrow().startswith("(tgt_len, batch, d_model), (src_len, batch, d_model)")
    assert not [doubt for row in decoder.rows() for doubt in row.doubts]


def test_an_image_has_channels_and_no_heads() -> None:
    found = trace(nn.Sequential(nn.Conv2d(3, 16, 4, 4), nn.Flatten(2)), torch.randn(2, 3, 8, 12))
    assert found.root.arrow().startswith("(batch, in_channels, height, width) → ")
    assert not [doubt for row in found.rows() for doubt in row.doubts]


def test_the_attention_of_torch_shows_its_operations() -> None:
    """It merges batch and heads, and splits them again."""
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


class Attends(nn.Module):
    """Attention after a convolution; `h` is a variable, not a number of heads."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(4, 16, 5, padding=2)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.fc = nn.Linear(16, 3)

    def forward(self, x: Tensor) -> Tensor:
        h = self.conv(x).transpose(1, 2)
        found, _ = self.attention(h, key=h, value=h)
        return self.fc((h + found).mean(1))


class ReadsBothWays(Attends):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(16, 8, batch_first=True, bidirectional=True)

    def forward(self, x: Tensor) -> Tensor:
        h, _ = self.lstm(self.conv(x).transpose(1, 2))
        return self.fc((h + self.attention(h, h, h)[0]).mean(1))


@pytest.mark.parametrize(
    ("module", "width"), [(Attends, "out_channels"), (ReadsBothWays, "hidden")]
)
def test_the_attention_of_torch_takes_the_name_that_arrives(
    module: type[nn.Module], width: str
) -> None:
    found = trace(module(), torch.randn(5, 4, 11))
    assert not [doubt for row in found.rows() for doubt in row.doubts]
    assert names(found.root.outputs[0]) == "(batch, fc.out)"
    attention = found.find("attention")
    assert names(attention.outputs[0]) == f"(batch, seq_len, {width})"
    steps = {row.what: row.output for row in attention.children}
    assert steps[f"reshape batch, {width} to batch·h, d_k"] == "(seq_len, batch·h, d_k)"
    assert "scale × 0.3536 = 1/√d_k" in steps


def test_the_states_of_a_bidirectional_lstm_have_layers_times_directions() -> None:
    lstm = trace(ReadsBothWays(), torch.randn(5, 4, 11)).find("lstm")
    assert names(lstm.outputs[1]) == "(layers·directions, batch, hidden)"
    zeros = lstm.children[0]
    assert zeros.operation == "zeros" and names(zeros.outputs[0]) == "(2, 5, 8)"


def test_given_names_are_used() -> None:
    found = trace(nn.Linear(6, 4), torch.randn(9, 5, 6), axes={"input": "cells genes d_model"})
    assert found.root.output.startswith("(cells, genes, ")


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"y": "batch d_model"}, "which is not a tensor argument; choose from input"),
        ({"input": "batch"}, r"1 names \(batch\), but it has 2 axes"),
    ],
)
def test_given_names_that_do_not_fit_are_refused_in_one_line(
    axes: dict[str, str], message: str
) -> None:
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


@pytest.mark.parametrize("sizes", [{"h": 12}, {"h": 1}, {"d_ff": 12}], ids=str)
def test_equal_sizes_of_a_right_model_raise_no_doubt(sizes: dict[str, int]) -> None:
    traced = trace(model(**sizes).eval(), *batch())
    assert "⚠" not in str(traced)
    head = traced.find("decoder.layers.1.cross_attention_block")
    labels = [axis.label for row in head.children for shape in row.outputs for axis in shape]
    assert {"h", "d_k"} <= set(labels)
    assert names(traced.find("encoder.layers.0.feed_forward_block").outputs[0]) == (
        "(batch, src_len, d_model)"
    )


def test_a_compiled_module_is_traced_as_the_module_that_it_compiles() -> None:
    linear, x = nn.Linear(3, 2), torch.randn(4, 3)
    compiled = trace(torch.compile(linear, backend="eager"), x)
    assert str(compiled) == str(trace(linear, x))
    assert torch.equal(compiled.output, linear(x))


def test_an_empty_container_can_be_traced() -> None:
    assert trace(nn.Sequential(), torch.ones(2, 3)).root.kind == "Sequential"


def test_a_path_that_did_not_run_is_named() -> None:
    with pytest.raises(UserError, match=r"no module at 'no\.such\.path'"):
        trace(nn.Linear(3, 2), torch.ones(4, 3)).find("no.such.path")


def test_modules_that_another_thread_runs_are_none_of_the_trace() -> None:
    other, inputs = nn.Sequential(nn.Linear(5, 5), nn.ReLU()), torch.ones(2, 5)

    class Busy(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with ThreadPoolExecutor(1) as pool:
                assert torch.equal(pool.submit(other, inputs).result(), other(inputs))
            return x + 1

    traced = trace(Busy(), torch.zeros(3, 4))
    assert torch.equal(traced.output, torch.ones(3, 4))
    assert "Sequential" in str(traced) and str(traced).count("Sequential") == 1
