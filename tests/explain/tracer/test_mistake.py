"""Shape errors in typical modules are explained with the right two axes."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from clearhead import build_transformer
from clearhead.explain import trace
from tests.explain.tracer import broken
from tests.explain.tracer.broken import BATCH, D_MODEL, HEADS, SRC, TGT

SOURCE = Path(broken.__file__).read_text(encoding="utf-8").splitlines()
x = torch.randn(BATCH, TGT, D_MODEL)
memory = torch.randn(BATCH, SRC, D_MODEL)
src_mask = torch.ones(BATCH, 1, 1, SRC, dtype=torch.bool)
tgt_mask = torch.ones(BATCH, 1, TGT, TGT, dtype=torch.bool)

# A module, its inputs, the two axes that differ, and a phrase of the likely cause.
PLANTED: list[tuple[type[nn.Module], tuple[Any, ...], tuple[str, str], str]] = [
    (broken.KeyNotTransposed, (x, x, x), ("d_k", "seq_len"), "key.transpose(-2, -1)"),
    (broken.KeyTransposedWrongly, (x, x, x), ("d_k", "h"), "wrong axes"),
    (broken.QueryWithoutHeadsInFront, (x, x, x), ("seq_len", "h"), "transpose(1, 2)"),
    (broken.HeadsNotSplit, (x, x, x, tgt_mask), ("d_model", "seq_len"), "never split"),
    (broken.HeadsNotJoined, (x, x, x), ("d_k", "d_model"), "heads were not concatenated"),
    (broken.JoinedWithoutContiguous, (x, x, x), ("h", "d_k"), ".contiguous()"),
    (broken.SplitIntoWholeWidths, (x, x, x), ("d_model", "h·d_model"), "d_k = d_model / h"),
    (broken.ForgotTheHeads, (x, x, x), ("h·d_k", "d_k"), "the factor h was forgotten"),
    (broken.NormWithoutKeepdim, (x,), ("d_model", "seq_len"), "keepdim=True"),
    (broken.WholeTableAdded, (x,), ("seq_len", "max_seq_len"), "self.pe[:, : x.shape[1]]"),
    (broken.FeedForwardNeverNarrows, (x,), ("d_model", "d_ff"), "from d_ff to d_model"),
    (broken.FeedForwardSwapped, (x,), ("d_ff", "d_model"), "nn.Linear(20, 12)"),
    (broken.CrossAttentionWithForeignValues, (x, memory), ("src_len", "tgt_len"), "same one"),
    (broken.SourceMaskOnTheTarget, (x, src_mask, tgt_mask), ("tgt_len", "src_len"), "swapped"),
    (broken.HeadsJoinedAlongTheWrongAxis, (x,), ("d_k", "d_model"), "dim=-1"),
    (broken.SourceAndTargetAdded, (memory, x), ("src_len", "tgt_len"), "two sequences"),
    (broken.Attention, (x.mT, x.mT, x.mT), ("seq_len", "d_model"), "transposed"),
    (broken.Attention, (x, x, x, tgt_mask[:, 0]), ("h", "batch"), "mask.unsqueeze(1)"),
    (broken.SineOfAnOddWidth, (x[..., :9],), ("d_model/2", "d_model/2"), "d_model // 2"),
]
ids = [f"{module.__name__}-{'-'.join(axes)}" for module, _, axes, _ in PLANTED]


@pytest.mark.parametrize(("module", "inputs", "axes", "advice"), PLANTED, ids=ids)
def test_a_shape_error_is_explained_with_its_two_axes(
    module: type[nn.Module], inputs: tuple[Any, ...], axes: tuple[str, str], advice: str
) -> None:
    with pytest.raises((RuntimeError, IndexError)) as untraced:
        module()(*inputs)
    mistake = trace(module(), *inputs).mistake
    assert mistake is not None and mistake.names == axes
    assert advice in mistake.slip
    assert mistake.message == str(untraced.value).splitlines()[0]


@pytest.mark.parametrize(("module", "inputs", "axes", "advice"), PLANTED, ids=ids)
def test_the_explanation_points_to_the_line_and_to_where_the_axes_come_from(
    module: type[nn.Module], inputs: tuple[Any, ...], axes: tuple[str, str], advice: str
) -> None:
    found = trace(module(), *inputs)
    mistake = found.mistake
    assert mistake is not None and mistake.location is not None
    assert mistake.location.file == broken.__file__
    line = SOURCE[mistake.location.line - 1]
    assert mistake.location.code.split("(")[0] in line
    assert all(story.partition(": ")[2] for story in mistake.stories)
    assert found.rows()[-1].failed and not any(row.failed for row in found.rows()[:-1])


class Transposed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(D_MODEL, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x.transpose(1, 2))


class Sliced(Transposed):
    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x[:, :, 0])


class Flattened(Transposed):
    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x.flatten(1))


@pytest.mark.parametrize(
    ("module", "advice"),
    [
        (Transposed, "d_model is axis 1, not the last: transpose at test_mistake.py:"),
        (Sliced, f"the layer was built for in_features={D_MODEL}, but the input has seq_len={TGT}"),
        (Flattened, "flattening puts seq_len into the width"),
    ],
)
def test_a_wrong_width_is_blamed_on_the_operation_that_made_it(
    module: type[nn.Module], advice: str
) -> None:
    mistake = trace(module(), x).mistake
    assert mistake is not None and mistake.slip.startswith(advice)


def test_a_correct_module_has_no_mistake() -> None:
    found = trace(broken.Attention(), x, memory, memory, src_mask)
    assert found.mistake is None
    assert found.root.outputs[0][1].label == "tgt_len"


def test_a_missing_axis_and_a_failed_unpacking_are_explained() -> None:
    asked = trace(lambda x: x.transpose(2, 3), x).mistake
    assert asked is not None and "split into heads" in asked.slip

    def unpack(x: torch.Tensor) -> int:
        batch, length = x.shape
        return batch * length

    unpacked = trace(unpack, x).mistake
    assert unpacked is not None and "(batch, seq_len, d_model)" in str(unpacked)


def test_a_wrong_reshape_of_the_right_size_is_doubted() -> None:
    """Heads concatenated without a transpose raise nothing, and the output is wrong."""

    class Joined(broken.Attention):
        def join(self, x: torch.Tensor) -> torch.Tensor:
            return x.reshape(x.shape[0], -1, self.d_model)

    found = trace(Joined(), x, x, x)
    doubts = [doubt for row in found.rows() for doubt in row.doubts]
    assert found.mistake is None and len(doubts) == 1 and "mixes the axes" in doubts[0]
    assert not [row for row in trace(broken.Attention(), x, x, x).rows() if row.doubts]


def test_equal_sizes_that_hide_a_missing_transpose_are_doubted() -> None:
    """With d_k = seq_len the product of query and key fits without a transpose."""
    square = torch.randn(BATCH, D_MODEL // HEADS, D_MODEL)
    found = trace(broken.KeyNotTransposed(), square, square, square)
    doubts = [doubt for row in found.rows() for doubt in row.doubts]
    assert found.mistake is None
    assert "d_k is combined with seq_len: they match only because both are 4" in doubts


@pytest.mark.parametrize(
    "call",
    [
        lambda x: torch.reshape(input=x, shape=(7, 7)),
        lambda x: torch.matmul(input=x, other=x),
        lambda x: torch.nn.functional.linear(x, weight=x[0, :, :3]),
        lambda x: torch.cat(tensors=(x, x[:1, :2]), dim=2),
        lambda x: x[:, :, 99],
        lambda x: x.expand(3, 9, 9),
        lambda x: torch.einsum("bnd,bde->bne", x, x),
        lambda x: torch.stack((x, x[:1])),
    ],
)
def test_an_unusual_call_fails_as_untraced_or_is_explained(call: Any) -> None:
    with pytest.raises((RuntimeError, IndexError)) as untraced:
        call(x)
    try:
        mistake = trace(call, x).mistake
    except (RuntimeError, IndexError) as error:
        assert str(error) == str(untraced.value)
    else:
        assert mistake is not None and mistake.message == str(untraced.value).splitlines()[0]


def test_an_error_that_is_not_about_shapes_is_raised() -> None:
    with pytest.raises(RuntimeError, match="Long"):
        trace(nn.Linear(D_MODEL, 3), torch.ones(2, D_MODEL, dtype=torch.long))
    with pytest.raises(ZeroDivisionError):
        trace(lambda x: x / (1 // 0), x)


class Model(nn.Module):
    """Ids in, vectors out."""

    def __init__(self, check: bool) -> None:
        super().__init__()
        self.check, self.embedding = check, nn.Embedding(31, D_MODEL)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        if self.check and ids.is_floating_point():
            raise ValueError("ids must be integers")
        return self.embedding(ids)


@pytest.mark.parametrize("check", [False, True], ids=["torch refuses", "the model refuses"])
def test_ids_that_are_floats_are_explained(check: bool) -> None:
    found = trace(Model(check), torch.ones(BATCH, TGT))
    assert found.mistake is not None and found.mistake.axes == ()
    assert "float32" in found.mistake.headline and "ids.long()" in found.mistake.slip
    for shown in (str(found), found.to_html(), found.to_markdown(), found.to_json()):
        assert "ids must be integers" in shown


def test_float_ids_of_a_transformer_are_explained() -> None:
    model = build_transformer(31, 31, 9, 9, d_model=D_MODEL, N=1, h=HEADS, d_ff=20)
    tgt = torch.ones(BATCH, TGT, dtype=torch.long)
    mistake = trace(model, torch.ones(BATCH, SRC), tgt, src_mask, tgt_mask).mistake
    assert mistake is not None and "float32" in mistake.headline
