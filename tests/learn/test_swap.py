"""A learner's block takes the place of the library's, with the same weights."""

from pathlib import Path

import pytest
import torch

from clearhead.errors import UserError
from clearhead.learn.swap import Swapped, block_of, compare, load_block, swap
from clearhead.learn.texts import solution
from clearhead.models import Transformer, build_transformer
from tests.learn.answers import attention, blocks, layers, stacks

NAME = "MultiHeadAttentionBlock"


def model() -> Transformer:
    torch.manual_seed(3)
    one = build_transformer(13, 17, 9, 11, d_model=12, N=2, h=3, dropout=0.0, d_ff=14).eval()
    with torch.no_grad():
        for parameter in one.parameters():  # also norms and biases are not what they start with
            parameter.add_(0.3 * torch.randn_like(parameter))
    return one


def outputs(one: Transformer) -> torch.Tensor:
    src, tgt = torch.arange(2, 9)[None], torch.arange(3, 8)[None]
    with torch.no_grad():
        return one(src, tgt, torch.ones(1, 1, 1, 7).bool(), torch.ones(1, 1, 5, 5).tril().bool())


RIGHT = {
    "library": (NAME, solution("multi_head_attention"), 6),
    "own names": (NAME, blocks.OTHER_NAMES, 6),
    "fused": (NAME, blocks.FUSED, 6),
    "a module for each head": (NAME, attention.HEAD_MODULES, 6),
    "lists of heads": (NAME, attention.HEAD_LISTS, 6),
    "plain Linear": (NAME, attention.SDPA_BLOCK.replace("q_proj", "a").replace("k_proj", "z"), 6),
    "norm": ("LayerNormalization", blocks.NORM, 12),
    "positions": ("PositionalEncoding", layers.SEED_POSITIONS, 2),
    "convolution": ("FeedForwardBlock", layers.CONVOLUTION, 4),
    "residual": ("ResidualConnection", solution("residual"), 10),
    "layer": ("EncoderBlock", solution("encoder_block"), 2),
    "decoder": ("Decoder", solution("decoder"), 1),
}


@pytest.mark.parametrize("kind", RIGHT)
def test_a_right_block_computes_what_the_librarys_does(kind: str) -> None:
    name, text, count = RIGHT[kind]
    one, expected = model(), outputs(model())
    assert swap(one, block_of(text, "mine.py", name)) == Swapped(name, "mine.py", count)
    assert any(type(m).__module__ == "answer" for m in one.modules())
    torch.testing.assert_close(outputs(one), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("LayerNormalization", layers.SEED_NORM, 12),
        ("EncoderBlock", stacks.SEED_ENCODER_BLOCK, 2),
        ("Encoder", stacks.ENCODER, 1),
    ],
)
def test_a_block_that_the_grader_accepts_runs_and_says_what_it_cannot_hold(
    name: str, text: str, count: int
) -> None:
    """Its norm has one alpha and one bias, the model's has one for each feature."""
    one = model()
    found = swap(one, block_of(text, "mine.py", name))
    assert found.count == count and "no parameter for" in found.note
    assert outputs(one).isfinite().all()


def test_blocks_within_blocks_can_all_be_the_learners() -> None:
    mine = [
        block_of(text, f"{name}.py", name)
        for name, text in (("EncoderBlock", solution("encoder_block")), (NAME, blocks.FUSED))
    ]
    one, expected = model(), outputs(model())
    _, _, swapped = compare(one, lambda: [], mine)
    assert [*map(str, swapped)] == [
        f"{NAME} of {NAME}.py runs 6 times",
        "EncoderBlock of EncoderBlock.py runs 2 times",
    ]
    torch.testing.assert_close(outputs(one), expected, rtol=1e-4, atol=1e-4)


def test_a_wrong_block_shows_its_effect() -> None:
    text = attention.SDPA_BLOCK.replace("y.transpose(1, 2).reshape", "y.reshape")
    one, expected = model(), outputs(model())
    swapped = swap(one, block_of(text, "mine.py", NAME))
    assert swapped.count == 6 and "differs from the library's by up to" in swapped.note
    assert (outputs(one) - expected).abs().max() > 0.01


def test_a_block_without_biases_says_what_it_leaves_out() -> None:
    note = swap(model(), block_of(blocks.NO_BIAS, "mine.py", NAME)).note
    assert note.startswith("no parameter for w_k.bias, w_o.bias, w_q.bias, w_v.bias; its output")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (attention.SDPA_BLOCK.replace("nn.Linear(d_model, d_model)", "nn.Linear(d_model, 5)", 1),
         "expected w_q.weight"),
        (attention.SDPA_BLOCK.replace("self.o_proj(y", "self.missing(y"), "mine.py, line 19: Attr"),
        (attention.SDPA_BLOCK.replace("h: int, ", ""), "takes 3 positional arguments but 4"),
        ("def f(:", "mine.py, line 1: invalid syntax"),
        ("import sys\nsys.exit(3)", "mine.py, line 2: the program called exit"),
        ("x = ____", "the blank ____ is not filled in"),
        ("class Other:\n    pass", "defines no class MultiHeadAttentionBlock; found Other"),
    ],
)  # fmt: skip
def test_a_block_that_cannot_be_used_is_one_line(text: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        swap(model(), block_of(text, "mine.py", NAME))
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_block_that_is_named_twice_is_said_to_be() -> None:
    one, block = model(), block_of(blocks.FUSED, "mine.py", NAME)
    with pytest.raises(UserError, match=f"no {NAME}, or --with names it twice"):
        compare(one, lambda: [], [block, block])


def test_a_wrong_address_says_what_is_expected(tmp_path: Path) -> None:
    for spec in ("mine.py", "mine.py:NoBlock", f"{tmp_path / 'none.py'}:{NAME}"):
        with pytest.raises(UserError, match=r"expected FILE.py:CLASS|cannot read"):
            load_block(spec)
