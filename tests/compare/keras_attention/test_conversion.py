"""Conversion between Keras, torch.nn and ours is lossless; other kinds of attention are refused."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

from clearhead.blocks import MultiHeadAttentionBlock
from clearhead.compare.keras_attention import conversion
from clearhead.compare.keras_attention.conversion import (
    from_keras,
    from_torch,
    in_our_names,
    to_keras,
    to_torch,
)
from clearhead.compare.proofs import keras as proofs
from clearhead.compare.timing import keras_on
from clearhead.errors import UserError
from tests.compare.keras_attention.installed import needs_keras

pytestmark = needs_keras
H, D_K = 3, 5
D_MODEL = H * D_K
both_biases = pytest.mark.parametrize("bias", [True, False])


@pytest.fixture(autouse=True)
def keras() -> Iterator[Any]:
    torch.manual_seed(3)
    with keras_on("cpu") as package:
        yield package


def block(bias: bool = True) -> MultiHeadAttentionBlock:
    return MultiHeadAttentionBlock(D_MODEL, H, 0.2, bias=bias)


def same(one: nn.Module, other: nn.Module) -> bool:
    first, second = one.state_dict(), other.state_dict()
    return first.keys() == second.keys() and all(
        torch.equal(first[name], second[name]) for name in first
    )


@both_biases
def test_a_round_trip_returns_the_same_block(bias: bool) -> None:
    ours = block(bias)
    for again in (from_keras(to_keras(ours)), from_torch(to_torch(ours))):
        assert same(again, ours)
        assert (again.h, again.d_model, again.dropout.p) == (H, D_MODEL, 0.2)


@both_biases
def test_a_round_trip_returns_the_same_keras_layer(bias: bool, keras: Any) -> None:
    layer = keras.layers.MultiHeadAttention(H, D_K, use_bias=bias)
    layer.build((None, None, D_MODEL), (None, None, D_MODEL))
    again = to_keras(from_keras(layer))
    for one, other in zip(layer.weights, again.weights, strict=True):
        assert torch.equal(one.value, other.value)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_the_dtype_is_kept(dtype: torch.dtype) -> None:
    ours = block().to(dtype)
    assert to_torch(ours).in_proj_weight.dtype == dtype
    assert from_keras(to_keras(ours)).w_o.weight.dtype == dtype


def test_weights_are_copies() -> None:
    ours = block()
    before = [to_keras(ours), to_torch(ours)]
    nn.init.zeros_(ours.w_q.weight)
    assert in_our_names(before[0])["w_q.weight"].any()
    assert before[1].in_proj_weight[:D_MODEL].any()


def test_names_are_those_of_our_state_dict() -> None:
    ours = block()
    assert in_our_names(to_keras(ours)).keys() == ours.state_dict().keys()


def test_a_layer_without_weights_is_refused(keras: Any) -> None:
    with pytest.raises(UserError, match=r"no weights before its first input.*build"):
        from_keras(keras.layers.MultiHeadAttention(H, D_K))


@pytest.mark.parametrize(
    ("key_dim", "value_dim", "output_shape"),
    [(D_MODEL, None, None), (D_K, D_K + 1, None), (D_K, None, D_MODEL + 1)],
    ids=["key_dim of all heads", "other value_dim", "other output_shape"],
)
def test_a_layer_that_differs_from_the_papers_is_refused(
    key_dim: int, value_dim: int | None, output_shape: int | None, keras: Any
) -> None:
    layer = keras.layers.MultiHeadAttention(H, key_dim, value_dim, output_shape=output_shape)
    layer.build((None, None, D_MODEL), (None, None, D_MODEL))
    with pytest.raises(UserError, match="expected key_dim = value_dim = d_model / num_heads"):
        from_keras(layer)


def test_a_gate_is_refused(keras: Any) -> None:
    layer = keras.layers.MultiHeadAttention(H, D_K, use_gate=True)
    layer.build((None, None, D_MODEL), (None, None, D_MODEL))
    with pytest.raises(UserError, match="use_gate=True"):
        from_keras(layer)


@pytest.mark.parametrize(
    "theirs",
    [
        nn.MultiheadAttention(D_MODEL, H, kdim=4),
        nn.MultiheadAttention(D_MODEL, H, add_bias_kv=True),
        nn.MultiheadAttention(D_MODEL, H, add_zero_attn=True),
    ],
)
def test_additions_of_torch_are_refused(theirs: nn.MultiheadAttention) -> None:
    with pytest.raises(UserError, match="one width and no extra keys"):
        from_torch(theirs)


@pytest.mark.parametrize("wrong", ["heads are the fast axis", "not transposed", "w_k for w_q"])
def test_a_wrong_conversion_fails_the_proof(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def assign(dense: Any, linear: nn.Linear, axis: int, h: int) -> None:
        weight = linear.weight.detach()
        kernel = weight.T.unflatten(axis, (h, -1))
        if wrong == "heads are the fast axis":
            kernel = weight.T.unflatten(axis, (-1, h)).transpose(axis, axis + 1)
        elif wrong == "not transposed":
            kernel = weight.unflatten(axis, (h, -1))
        dense.kernel.assign(kernel)

    if wrong == "w_k for w_q":
        swapped = {"w_q": "key_dense", "w_k": "query_dense", "w_v": "value_dense"}
        monkeypatch.setattr(conversion, "INWARD", swapped)
    else:
        monkeypatch.setattr(conversion, "_assign", assign)
    assert not proofs.ours_to_keras(torch.float64).within(1e-3)


def test_grouped_queries_are_refused_with_the_reason(keras: Any) -> None:
    layer = keras.layers.GroupQueryAttention(D_K, 2 * H, H)
    layer.build((None, None, D_MODEL), (None, None, D_MODEL))
    with pytest.raises(
        UserError, match=r"is a GroupedQueryAttention; expected .*MultiHeadAttention"
    ):
        from_keras(layer)


def test_other_attention_axes_are_refused_with_the_reason(keras: Any) -> None:
    layer = keras.layers.MultiHeadAttention(H, D_K, attention_axes=(2,))
    layer.build((None, None, None, D_MODEL), (None, None, None, D_MODEL))
    with pytest.raises(UserError, match=r"attends over the axes \(2,\) \(attention_axes\)"):
        from_keras(layer)
