"""The stack without padding says what the readable one says, text by text."""

import pytest
import torch
from torch import Tensor, nn

from clearhead.blocks import (
    ActivatedFeedForwardBlock,
    BiasedLayerNormalization,
    Encoder,
    EncoderBlock,
    MultiHeadAttentionBlock,
    PostNormResidualConnection,
    ResidualConnection,
    RotaryMultiHeadAttentionBlock,
    RotaryPositions,
)
from clearhead.blocks.activations import gelu
from clearhead.fast.fused_stack import FusedStack, Run, can_fuse
from clearhead.fast.int8_linear import Int8Linear
from clearhead.fast.packed_linear import BfloatLinear, PlainLinear, float32

D_MODEL, H, D_FF = 24, 3, 40
RUNS = [Run(2, 7), Run(1, 5), Run(3, 1), Run(1, 33)]


def encoder(residual: type[ResidualConnection], rotary: bool) -> Encoder:
    torch.manual_seed(7)
    turn = RotaryPositions(D_MODEL // H)
    layers = nn.ModuleList(
        EncoderBlock(
            RotaryMultiHeadAttentionBlock(D_MODEL, H, 0.0, turn)
            if rotary
            else MultiHeadAttentionBlock(D_MODEL, H, 0.0),
            ActivatedFeedForwardBlock(D_MODEL, D_FF, 0.0, gelu),
            0.0,
            lambda: residual(0.0, BiasedLayerNormalization(D_MODEL, 1e-6)),
        )
        for _ in range(3)
    )
    post = residual is PostNormResidualConnection
    made = Encoder(layers, nn.Identity() if post else BiasedLayerNormalization(D_MODEL))
    for parameter in made.parameters():
        parameter.data += torch.randn_like(parameter) * 0.1
    return made.eval().requires_grad_(False)


def readable(model: Encoder, x: Tensor) -> Tensor:
    """Run by run, each a rectangle."""
    parts = x.split([run.texts * run.length for run in RUNS])
    own = [
        model(part.view(run.texts, run.length, D_MODEL)).flatten(0, 1)
        for part, run in zip(parts, RUNS, strict=True)
    ]
    return torch.cat(own)


every_kind = pytest.mark.parametrize(
    ("residual", "rotary"),
    [(PostNormResidualConnection, False), (ResidualConnection, True), (ResidualConnection, False)],
)


@every_kind
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_it_is_the_readable_stack(
    residual: type[ResidualConnection], rotary: bool, dtype: torch.dtype
) -> None:
    model = encoder(residual, rotary).to(dtype)
    x = torch.randn(sum(run.texts * run.length for run in RUNS), D_MODEL, dtype=dtype)
    difference = (FusedStack(model, D_MODEL)(x, RUNS) - readable(model, x)).abs().max()
    # The angles are float32 on both sides.
    assert difference <= (1e-5 if dtype == torch.float32 else 1e-6 if rotary else 1e-12)


@every_kind
def test_a_text_is_the_same_in_company_and_alone(
    residual: type[ResidualConnection], rotary: bool
) -> None:
    stack = FusedStack(encoder(residual, rotary), D_MODEL)
    x = torch.randn(sum(run.texts * run.length for run in RUNS), D_MODEL)
    together = stack(x, RUNS)
    last = stack(x[-33:], [Run(1, 33)])
    assert (together[-33:] - last).abs().max() <= 2e-6


@pytest.mark.parametrize(
    ("pack", "bound"),
    [(PlainLinear, 1e-5), (float32, 1e-5), (BfloatLinear, 0.1), (Int8Linear, 0.3)],
)
def test_every_packing_computes_nearly_the_same(pack: type, bound: float) -> None:
    model = encoder(PostNormResidualConnection, False)
    x = torch.randn(sum(run.texts * run.length for run in RUNS), D_MODEL)
    found = FusedStack(model, D_MODEL, pack)(x, RUNS)
    assert (found - readable(model, x)).abs().max() <= bound


class Own(MultiHeadAttentionBlock):
    pass


def test_only_the_librarys_own_parts_are_fused() -> None:
    model = encoder(ResidualConnection, True)
    assert can_fuse(model)
    handle = model.layers[1].register_forward_hook(lambda *_: None)
    assert not can_fuse(model)
    handle.remove()
    model.layers[0].self_attention_block.keep_attention_scores = True  # type: ignore[union-attr]
    assert not can_fuse(model)
    model.layers[0].self_attention_block = Own(D_MODEL, H, 0.0)
    assert not can_fuse(model)
