"""Shape bugs planted in a learner's modules: each is explained with the right two axes named."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from clearhead.explain import trace
from tests.explain.tracer import broken
from tests.explain.tracer.broken import BATCH, D_MODEL, HEADS, SRC, TGT

SOURCE = Path(broken.__file__).read_text(encoding="utf-8").splitlines()
x = torch.randn(BATCH, TGT, D_MODEL)
memory = torch.randn(BATCH, SRC, D_MODEL)
src_mask = torch.ones(BATCH, 1, 1, SRC, dtype=torch.bool)
tgt_mask = torch.ones(BATCH, 1, TGT, TGT, dtype=torch.bool)

# What is broken, its inputs, the two axes that meet, and a word of the advice.
PLANTED: list[tuple[type[nn.Module], tuple[Any, ...], tuple[str, str], str]] = [
    (broken.KeyNotTransposed, (x, x, x), ("d_k", "seq_len"), "key.transpose(-2, -1)"),
    (broken.KeyTransposedWrongly, (x, x, x), ("d_k", "h"), "wrong axes"),
    (broken.QueryWithoutHeadsInFront, (x, x, x), ("seq_len", "h"), "transpose(1, 2)"),
    (broken.HeadsNotSplit, (x, x, x, tgt_mask), ("d_model", "seq_len"), "never split"),
    (broken.HeadsNotJoined, (x, x, x), ("d_k", "d_model"), "heads were not joined"),
    (broken.JoinedWithoutContiguous, (x, x, x), ("h", "d_k"), ".contiguous()"),
    (broken.SplitIntoWholeWidths, (x, x, x), ("d_model", "h·d_model"), "d_k = d_model / h"),
    (broken.ForgotTheHeads, (x, x, x), ("h·d_k", "d_k"), "the factor h was forgotten"),
    (broken.NormWithoutKeepdim, (x,), ("d_model", "seq_len"), "keepdim=True"),
    (broken.WholeTableAdded, (x,), ("seq_len", "max_seq_len"), "self.pe[:, : x.shape[1]]"),
    (broken.FeedForwardNeverNarrows, (x,), ("d_model", "d_ff"), "back to d_model"),
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
def test_a_planted_bug_is_explained_with_its_two_axes(
    module: type[nn.Module], inputs: tuple[Any, ...], axes: tuple[str, str], advice: str
) -> None:
    with pytest.raises((RuntimeError, IndexError)) as unwatched:
        module()(*inputs)
    mistake = trace(module(), *inputs).mistake
    assert mistake is not None and mistake.names == axes
    assert advice in mistake.slip
    assert mistake.message == str(unwatched.value).splitlines()[0]


@pytest.mark.parametrize(("module", "inputs", "axes", "advice"), PLANTED, ids=ids)
def test_the_explanation_points_to_the_line_and_to_where_the_axes_come_from(
    module: type[nn.Module], inputs: tuple[Any, ...], axes: tuple[str, str], advice: str
) -> None:
    found = trace(module(), *inputs)
    mistake = found.mistake
    assert mistake is not None and mistake.place is not None
    assert mistake.place.file == broken.__file__
    line = SOURCE[mistake.place.line - 1]
    assert mistake.place.code.split("(")[0] in line
    assert all(story.partition(": ")[2] for story in mistake.stories)
    assert found.rows()[-1].failed and not any(row.failed for row in found.rows()[:-1])


def test_the_right_module_beside_the_broken_ones_has_no_mistake() -> None:
    found = trace(broken.Attention(), x, memory, memory, src_mask)
    assert found.mistake is None
    assert found.root.outputs[0][1].label == "tgt_len"


def test_an_axis_too_many_asked_for_and_one_too_few_unpacked() -> None:
    asked = trace(lambda x: x.transpose(2, 3), x).mistake
    assert asked is not None and "split into heads" in asked.slip

    def unpack(x: torch.Tensor) -> int:
        batch, length = x.shape
        return batch * length

    unpacked = trace(unpack, x).mistake
    assert unpacked is not None and "(batch, seq_len, d_model)" in str(unpacked)


def test_a_silent_slip_is_doubted_where_two_sizes_happen_to_agree() -> None:
    """Heads joined without a transpose back: nothing raises, and what comes out is wrong."""

    class Joined(broken.Attention):
        def join(self, x: torch.Tensor) -> torch.Tensor:
            return x.reshape(x.shape[0], -1, self.d_model)

    found = trace(Joined(), x, x, x)
    doubts = [doubt for row in found.rows() for doubt in row.doubts]
    assert found.mistake is None and len(doubts) == 1 and "shuffles" in doubts[0]
    assert not [row for row in trace(broken.Attention(), x, x, x).rows() if row.doubts]


def test_a_square_that_hides_a_missing_transpose_is_doubted() -> None:
    """With d_k = seq_len the product of query and key fits without a transpose."""
    square = torch.randn(BATCH, D_MODEL // HEADS, D_MODEL)
    found = trace(broken.KeyNotTransposed(), square, square, square)
    doubts = [doubt for row in found.rows() for doubt in row.doubts]
    assert found.mistake is None
    assert "d_k meets seq_len: they fit only because both happen to be 4" in doubts


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
def test_a_call_in_any_other_form_fails_as_it_does_unwatched_or_is_explained(call: Any) -> None:
    with pytest.raises((RuntimeError, IndexError)) as unwatched:
        call(x)
    try:
        mistake = trace(call, x).mistake
    except (RuntimeError, IndexError) as error:
        assert str(error) == str(unwatched.value)
    else:
        assert mistake is not None and mistake.message == str(unwatched.value).splitlines()[0]


def test_an_error_that_is_not_about_shapes_goes_its_way() -> None:
    with pytest.raises(RuntimeError, match="Long"):
        trace(nn.Linear(D_MODEL, 3), torch.ones(2, D_MODEL, dtype=torch.long))
    with pytest.raises(ZeroDivisionError):
        trace(lambda x: x / (1 // 0), x)
