"""Mistakes from forums are explained with the right two axes and a fitting remedy."""

from typing import Any

import pytest
import torch
from torch import nn

from clearhead.explain import trace
from tests.explain.tracer import broken, forum
from tests.explain.tracer.broken import BATCH, D_MODEL, SRC, TGT
from tests.explain.tracer.forum import VOCAB

x = torch.randn(BATCH, TGT, D_MODEL)
memory = torch.randn(BATCH, SRC, D_MODEL)
ids = torch.arange(BATCH * TGT).view(BATCH, TGT)
logits = torch.randn(BATCH, TGT, VOCAB)
padding = torch.ones(BATCH, TGT, dtype=torch.bool)
tgt_mask = torch.ones(1, 1, TGT, TGT, dtype=torch.bool)

MISTAKES: list[tuple[type[nn.Module], tuple[Any, ...], tuple[str, str], str]] = [
    (forum.LengthOfTheQueryForAll, (x, memory, memory), ("src_len", "seq_len"), "own x.shape[1]"),
    (forum.ValueNotSplit, (x, x, x), ("h", "batch"), "transpose(1, 2)"),
    (forum.WidthThatHeadsDoNotDivide, (x,), ("d_model", "h·d_k"), "a multiple of h"),
    (forum.PermuteOfFourAxes, (x,), ("axes", "axes of the call"), "not split into heads"),
    (forum.BmmOfFourAxes, (x, x, x), ("axes", "axes of the call"), "a @ b"),
    (forum.PositionsForAnotherOrder, (x,), ("batch", "seq_len"), "unsqueeze(0)"),
    (forum.WholeTriangle, (x,), ("seq_len", "max_seq_len"), "[:length, :length]"),
    (forum.MaskOfTheWholeTarget, (ids, tgt_mask), ("tgt_len−1", "tgt_len"), "the same slice"),
    (forum.ClassTokenNotExpanded, (x,), ("1", "batch"), "expand(batch, -1, -1)"),
    (forum.PositionsWithoutTheClassToken, (x,), ("1+seq_len", "max_seq_len"), "class token"),
    (forum.ConvolutionOverWords, (x,), ("seq_len", "in_channels"), "x.transpose(1, 2)"),
    (forum.NormOfTheLength, (memory,), ("d_model", "max_seq_len"), "nn.LayerNorm(12)"),
    (forum.QueryWithoutAxisForKeys, (x[:, 0], memory), ("batch", "src_len"), "unsqueeze(1)"),
    (forum.ConcatenatedIntoAMapForOne, (x,), ("2·d_model", "in_features"), "in_features=24"),
    (forum.WeightNotTransposed, (x,), ("d_model", "d_ff"), "weight.transpose(-2, -1)"),
    (forum.RecurrentLayerOfAnotherWidth, (x,), ("d_model", "input_size"), "built for"),
    (forum.MoreWordsThanRows, (ids,), ("seq_len", "max_seq_len"), "at least 5 rows"),
    (forum.MoreWordsThanRows, (ids[:, :3] + VOCAB,), ("id", "vocab"), "at least 31"),
    (forum.MoreWordsThanRows, (ids[:, :3] - 100,), ("id", "vocab"), "negative id"),
    (forum.ClassesAtTheEnd, (logits, ids), ("vocab", "tgt_len"), "logits.transpose(1, 2)"),
    (forum.OnlyTheLabelsShifted, (logits, ids), ("tgt_len", "tgt_len−1"), "slice both"),
    (forum.PaddingMaskForTheKernel, (x, padding), ("src_len", "batch"), "[:, None, None, :]"),
    (broken.Attention, (x, x, x, padding), ("seq_len", "batch"), "[:, None, None, :]"),
    (forum.StackedHeads, (x,), ("d_k", "d_model"), "torch.cat(heads, dim=-1)"),
    (forum.FlattenedClassifier, (x,), ("seq_len·d_model", "in_features"), "one length"),
    (forum.GivenToTorch, (x,), ("features", "embed_dim"), "built for embed_dim=20"),
    (forum.BatchNotFirst, (memory, x), ("src_len", "tgt_len"), "batch_first=True"),
    (forum.PaddingMaskTransposed, (x, padding), ("seq_len", "batch"), "(batch, key)"),
    (forum.SquareMaskForTwoLengths, (x, memory), ("seq_len", "src_len"), "rows are queries"),
    (forum.StateOfAnotherBatch, (x,), ("1", "batch"), "batch"),
]


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize(
    ("module", "inputs", "axes", "advice"),
    MISTAKES,
    ids=[f"{s[0].__name__}-{s[3]}" for s in MISTAKES],
)
def test_a_mistake_from_a_forum_is_explained(
    module: type[nn.Module], inputs: tuple[Any, ...], axes: tuple[str, str], advice: str
) -> None:
    with pytest.raises((RuntimeError, IndexError, ValueError, AssertionError)) as untraced:
        module()(*inputs)
    found = trace(module(), *inputs)
    mistake = found.mistake
    assert mistake is not None and mistake.names == axes
    assert advice in mistake.slip and mistake.law
    assert mistake.message == str(untraced.value).splitlines()[0]
    assert mistake.location is not None and mistake.location.file in (
        forum.__file__,
        broken.__file__,
    )
    assert "does not match" in found.to_html() and axes[0] in str(found)


def test_an_assertion_of_the_model_is_raised() -> None:
    def careful(x: torch.Tensor) -> torch.Tensor:
        assert x.shape[0] == 99, "my own words"
        return x

    with pytest.raises(AssertionError, match="my own words"):
        trace(careful, x)
