"""The native engine takes the library's own models, exactly as their configuration builds them."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn

from clearhead.blocks import (
    ACTIVATIONS,
    READABLE,
    ActivatedFeedForwardBlock,
    BiasedLayerNormalization,
    FeedForwardBlock,
    HalvedPositionalEncoding,
    LayerNormalization,
    LearnedPositions,
    MultiHeadAttentionBlock,
    Parts,
    PlainEmbeddings,
    PostNormResidualConnection,
    RotaryMultiHeadAttentionBlock,
    RotaryPositions,
)
from clearhead.decoding import NativeEngine, decode
from clearhead.fast.accelerate import LEAF_OPERATIONS, accelerate
from clearhead.models import Marian, MarianConfig, Transformer
from clearhead.models.native import native_model, unsupported
from tests.native.models import TRANSLATORS, bert, esm, gpt, random_sources, translator

LAYER = "encoder.layers.1"
MODELS: dict[str, Callable[[], Any]] = {
    **{kind: partial(translator, kind) for kind in TRANSLATORS},
    "GPT-2": gpt,
    "BERT": bert,
    "ESM-2": esm,
}


def rotary(d_model: int, h: int, dropout: float) -> nn.Module:
    return RotaryMultiHeadAttentionBlock(d_model, h, dropout, RotaryPositions(d_model // h))


def with_gelu(d_model: int, d_ff: int, dropout: float) -> nn.Module:
    return ActivatedFeedForwardBlock(d_model, d_ff, dropout, ACTIVATIONS["gelu"])


OTHER_PARTS: dict[str, Parts] = {
    "PlainEmbeddings": replace(READABLE, embeddings=PlainEmbeddings),
    "HalvedPositionalEncoding": replace(READABLE, positions=HalvedPositionalEncoding),
    "LearnedPositions": replace(READABLE, positions=LearnedPositions),
    "RotaryMultiHeadAttentionBlock": replace(READABLE, attention=rotary),
    "ActivatedFeedForwardBlock": replace(READABLE, feed_forward=with_gelu),
    "BiasedLayerNormalization": replace(READABLE, normalization=BiasedLayerNormalization),
    "eps=0.3": replace(READABLE, normalization=partial(LayerNormalization, eps=0.3)),
    "PostNormResidualConnection": replace(READABLE, residual=PostNormResidualConnection),
}


def set_part(name: str, value: object) -> Callable[[nn.Module], None]:
    """Puts this module, setting or method at a path of a model."""

    def change(model: nn.Module) -> None:
        path, _, last = name.rpartition(".")
        setattr(model.get_submodule(path), last, value)

    return change


def remove_a_layer(model: nn.Module) -> None:
    encoder: Any = model.get_submodule("encoder")
    encoder.layers = encoder.layers[:1]


def first_layer_twice(model: nn.Module) -> None:
    layers: Any = model.get_submodule("decoder.layers")
    layers[1] = layers[0]


def silent(x: Tensor) -> Tensor:
    return x * 0


# What is changed in a finished model, and the words that name it.
CHANGES: dict[str, Callable[[nn.Module], None]] = {
    "src_pos is a Identity": set_part("src_pos", nn.Identity()),
    f"{LAYER} is a Identity": set_part(LAYER, nn.Identity()),
    "encoder.norm is a Identity": set_part("encoder.norm", nn.Identity()),
    f"{LAYER} is missing": remove_a_layer,
    "decoder.layers.1 is missing": first_layer_twice,
    f"{LAYER}.feed_forward_block has its own forward": set_part(
        f"{LAYER}.feed_forward_block.forward", silent
    ),
    f"{LAYER}.self_attention_block has its own split_heads": set_part(
        f"{LAYER}.self_attention_block.split_heads", silent
    ),
    "the model has its own encode": set_part("encode", silent),
    f"{LAYER}.feed_forward_block.linear_1.weight has shape": set_part(
        f"{LAYER}.feed_forward_block", FeedForwardBlock(60, 99, 0.0)
    ),
    f"{LAYER}.self_attention_block has h=5, not 3": set_part(f"{LAYER}.self_attention_block.h", 5),
    f"{LAYER}.residual_connections.0.norm has eps=0.5": set_part(
        f"{LAYER}.residual_connections.0.norm.eps", 0.5
    ),
    "src_embed has d_model=1": set_part("src_embed.d_model", 1),
    f"{LAYER}.extra, a Linear, is not part": set_part(f"{LAYER}.extra", nn.Linear(3, 2)),
}


def assert_both_engines_agree(model: Transformer) -> None:
    sources = random_sources(model, 5)
    native = NativeEngine(model.config, native_model(model), threads=1).decode(sources)
    readable = decode(model, sources)
    assert [best[0].ids for best in native] == [best[0].ids for best in readable]


@pytest.mark.parametrize("kind", MODELS)
def test_a_model_of_the_library_is_supported_accelerated_or_not(kind: str) -> None:
    model = MODELS[kind]()
    assert unsupported(model) == ""
    assert unsupported(accelerate(model, LEAF_OPERATIONS)) == ""


@pytest.mark.parametrize("part", OTHER_PARTS)
def test_a_model_with_other_parts_is_not(part: str) -> None:
    model = Transformer.from_config(translator().config, OTHER_PARTS[part])
    assert part in unsupported(model)


def test_biases_and_norms_in_the_forms_of_the_sources_are_supported() -> None:
    """Attention without biases, norms with one alpha in all: the engine computes them."""
    attention = partial(MultiHeadAttentionBlock, bias=False)
    parts = replace(READABLE, attention=attention, normalization=lambda _: LayerNormalization())
    model = Transformer.from_config(translator().config, parts).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.15 * torch.randn_like(parameter)
    assert unsupported(model) == ""
    assert_both_engines_agree(model)


@pytest.mark.parametrize("reason", CHANGES)
def test_a_model_that_was_changed_is_not(reason: str) -> None:
    model = translator()
    CHANGES[reason](model)
    assert unsupported(model).startswith(reason)


@pytest.mark.parametrize("kind", ["Marian", "GPT-2", "BERT", "ESM-2"])
def test_each_family_is_held_to_its_own_configuration(kind: str) -> None:
    model = MODELS[kind]()
    blocks = [m for m in model.modules() if isinstance(m, ActivatedFeedForwardBlock)]
    blocks[-1].activation = torch.relu
    assert "feed_forward_block has activation=relu, not " in unsupported(model)


def test_the_class_of_a_model_says_which_parts_it_has_not_that_of_its_configuration() -> None:
    config = cast(MarianConfig, translator("Marian").config)
    model = Transformer.from_config(config).eval()
    assert unsupported(model) == ""
    assert_both_engines_agree(model)
    marian = Marian.from_config(config)
    marian.__class__ = Transformer
    assert unsupported(marian) != ""


def test_a_head_of_ones_own_does_not_matter() -> None:
    model = bert()
    model.heads["mine"] = nn.Bilinear(3, 4, 5)
    assert unsupported(model) == ""


def test_a_subclass_or_a_hook_is_not_supported() -> None:
    class Own(Transformer):
        pass

    model = translator()
    handle = model.encoder.register_forward_hook(lambda *call: None)
    assert unsupported(model) == "encoder has hooks"
    handle.remove()
    model.__class__ = Own
    assert unsupported(model).startswith("the model is a Own")


def test_the_comparison_draws_no_random_number() -> None:
    model, before = translator(), torch.get_rng_state()
    assert unsupported(model) == ""
    assert torch.equal(torch.get_rng_state(), before)
