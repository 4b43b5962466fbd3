"""Blocks under `torch.func`, `make_fx` and on the meta device compute what they compute alone."""

import copy

import pytest
import torch
from torch import Tensor
from torch.func import functional_call, grad, vmap
from torch.fx.experimental.proxy_tensor import make_fx

from clearhead.blocks import (
    HalvedPositionalEncoding,
    MultiHeadAttentionBlock,
    PositionalEncoding,
    RotaryMultiHeadAttentionBlock,
    RotaryPositions,
    scaled_dot_product_attention,
)
from clearhead.models import Transformer, build_transformer

BATCH, QUERY, KEY, D_K = 3, 4, 6, 5
MASKS = {
    "integers": torch.ones(QUERY, KEY, dtype=torch.int64).tril(),
    "floats": torch.ones(QUERY, KEY).tril(),
    "additive": torch.zeros(QUERY, KEY).masked_fill(~torch.ones(QUERY, KEY).tril().bool(), -1e9),
}


def model() -> Transformer:
    return build_transformer(11, 13, 9, 8, d_model=12, N=2, h=3, d_ff=20).eval()


def vectors() -> tuple[Tensor, Tensor, Tensor]:
    return torch.randn(BATCH, QUERY, D_K), torch.randn(BATCH, KEY, D_K), torch.randn(BATCH, KEY, 2)


def test_gradients_of_each_sentence_are_those_of_a_batch_of_one() -> None:
    whole = model()
    parameters = {name: p.detach() for name, p in whole.named_parameters()}
    src, tgt = torch.randint(3, 11, (BATCH, 7)), torch.randint(3, 13, (BATCH, 5))

    def loss(values: dict[str, Tensor], one: Tensor, other: Tensor) -> Tensor:
        result: Tensor = functional_call(whole, values, (one[None], other[None]))
        return result[..., 4].sum()

    found = vmap(grad(loss), (None, 0, 0))(parameters, src, tgt)
    for i in range(BATCH):
        for name, expected in grad(loss)(parameters, src[i], tgt[i]).items():
            torch.testing.assert_close(found[name][i], expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("form", MASKS)
def test_a_mask_hides_the_same_keys_in_vmap_and_in_a_traced_graph(form: str) -> None:
    q, k, v = vectors()
    expected = scaled_dot_product_attention(q, k, v, MASKS[form])[1]
    masks = MASKS[form].expand(BATCH, QUERY, KEY)
    found = vmap(scaled_dot_product_attention)(q, k, v, masks)[1]
    torch.testing.assert_close(found, expected)
    graph = make_fx(scaled_dot_product_attention)(q, k, v, MASKS[form])
    torch.testing.assert_close(graph(q, k, v, MASKS[form])[1], expected)


def test_a_model_can_be_traced_by_make_fx() -> None:
    whole, src, tgt = model(), torch.randint(3, 11, (2, 7)), torch.randint(3, 13, (2, 5))
    with torch.no_grad():
        torch.testing.assert_close(make_fx(whole)(src, tgt)(src, tgt), whole(src, tgt))


@pytest.mark.parametrize("rotary", [False, True])
def test_no_tensor_of_a_transformed_function_is_left_in_a_block(rotary: bool) -> None:
    block = MultiHeadAttentionBlock(12, 3, 0.0)
    if rotary:
        block = RotaryMultiHeadAttentionBlock(12, 3, 0.0, RotaryPositions(4))
    x = torch.randn(2, 5, 12)
    grad(lambda y: block(y, y, y).sum())(x)
    assert block.attention_scores is None
    copy.deepcopy(block)(x, x, x)
    block(x, x, x)
    assert block.attention_scores is not None and block.attention_scores.shape == (2, 3, 5, 5)


@pytest.mark.parametrize("kind", [PositionalEncoding, HalvedPositionalEncoding])
def test_sinusoids_are_computed_when_a_module_leaves_the_meta_device(
    kind: type[PositionalEncoding],
) -> None:
    with torch.device("meta"):
        module = kind(7, 9)
    filler = torch.full((1, 9, 7), 77.0)  # memory that was used before is not zero
    del filler
    found = module.to_empty(device="cpu").pe
    assert torch.equal(found, kind(7, 9).pe)


def test_a_model_from_the_meta_device_computes_what_its_weights_compute() -> None:
    whole, src, tgt = model(), torch.randint(3, 11, (2, 7)), torch.randint(3, 13, (2, 5))
    with torch.device("meta"):
        empty = model()
    empty.to_empty(device="cpu").load_state_dict(whole.state_dict(), strict=True)
    assert torch.equal(empty(src, tgt), whole(src, tgt))
