"""Arguments of a wrong shape or dtype: one line naming the argument, its shape, the expectation."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from clearhead.blocks import (
    ActivatedFeedForwardBlock,
    BiasedLayerNormalization,
    Decoder,
    Encoder,
    EncoderBlock,
    FeedForwardBlock,
    InputEmbeddings,
    LayerNormalization,
    LearnedPositions,
    MultiHeadAttention,
    MultiHeadAttentionBlock,
    PlainEmbeddings,
    PositionalEncoding,
    ProjectionLayer,
    ResidualConnection,
    SelfAttention,
    decoder_mask,
    look_ahead_mask,
    padding_mask,
    scaled_dot_product_attention,
    shift_right,
)
from clearhead.errors import UserError
from clearhead.models import Transformer, build_transformer

D_MODEL, H = 12, 3


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(UserError) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.fixture(scope="module")
def model() -> Transformer:
    return build_transformer(20, 30, 9, 8, d_model=D_MODEL, N=1, h=H, dropout=0.0, d_ff=7)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int16, torch.bool])
@pytest.mark.parametrize("embed", [InputEmbeddings(D_MODEL, 9), PlainEmbeddings(D_MODEL, 9)])
def test_ids_that_are_not_integers_are_refused(embed: InputEmbeddings, dtype: torch.dtype) -> None:
    found = refused(lambda: embed(torch.zeros(2, 5, dtype=dtype)))
    kind = str(dtype).removeprefix("torch.")
    assert f"x has shape (2, 5) and dtype {kind}; expected integer token ids" in found


def test_a_list_of_ids_is_refused_by_its_type(model: Transformer) -> None:
    assert "src is of type list; expected integer" in refused(lambda: model.encode([[3, 4]]))


def test_ids_of_one_axis_are_refused_with_the_repair(model: Transformer) -> None:
    ids = torch.randint(0, 20, (5,))
    found = refused(lambda: model.encode(ids))
    assert "src has shape (5,)" in found and "(batch, seq_len)" in found
    assert "src.unsqueeze(0)" in found
    memory = model.encode(ids.unsqueeze(0))  # the repair works
    assert "tgt has shape (5,)" in refused(lambda: model.decode(memory, None, ids))


def test_float_ids_are_refused_by_their_names(model: Transformer) -> None:
    src, tgt = torch.randint(0, 20, (2, 5)), torch.randint(0, 30, (2, 4))
    assert "src has shape (2, 5) and dtype float32" in refused(lambda: model(src.float(), tgt))
    assert "tgt has shape (2, 4) and dtype float64" in refused(lambda: model(src, tgt.double()))


def test_swapped_target_and_memory_are_refused_with_the_order(model: Transformer) -> None:
    src, tgt = torch.randint(0, 20, (2, 5)), torch.randint(0, 30, (2, 4))
    memory = model.encode(src)
    found = refused(lambda: model.decode(tgt, None, memory))
    assert "encoder_output has shape (2, 4) and dtype int64" in found
    assert "decode(encoder_output, src_mask, tgt, tgt_mask)" in found


def test_batches_of_different_sizes_are_refused_as_source_and_target(model: Transformer) -> None:
    src, tgt = torch.randint(0, 20, (2, 5)), torch.randint(0, 30, (3, 4))
    assert "the source has 2 sentences and the target 3" in refused(lambda: model(src, tgt))


def test_inputs_that_are_no_tensors_are_refused_by_their_type() -> None:
    x = torch.randn(2, 5, D_MODEL)
    attention = MultiHeadAttentionBlock(D_MODEL, H, 0.0)
    assert "q is of type ndarray" in refused(lambda: attention(x.numpy(), x, x))
    assert "mask is of type list" in refused(lambda: attention(x, x, x, [[1] * 5]))
    for block in (FeedForwardBlock(D_MODEL, 7, 0.0), LayerNormalization(D_MODEL)):
        assert "x is of type list" in refused(lambda block=block: block(x.tolist()))
        assert "last dimension" in refused(lambda block=block: block(torch.tensor(1.0)))


@pytest.mark.parametrize("shape", [(5, D_MODEL), (2, 5, D_MODEL + 1), (2, H, 5, D_MODEL)], ids=str)
@pytest.mark.parametrize("position", [0, 1, 2])
def test_attention_names_the_input_of_a_wrong_shape(position: int, shape: tuple[int, ...]) -> None:
    block = MultiHeadAttentionBlock(D_MODEL, H, 0.0)
    inputs = [torch.randn(2, 5, D_MODEL) for _ in range(3)]
    inputs[position] = torch.randn(shape)
    found = refused(lambda: block(*inputs))
    assert f"{'qkv'[position]} has shape {shape} and dtype float32; expected" in found
    assert f"(batch, seq_len, d_model={D_MODEL})" in found


@pytest.mark.parametrize("block", [SelfAttention(D_MODEL), MultiHeadAttention(D_MODEL, H)])
def test_chapter_3_names_the_input_of_a_wrong_shape(block: torch.nn.Module) -> None:
    assert "x has shape (5, 12)" in refused(lambda: block(torch.randn(5, 12)))
    assert "x has shape (2, 5, 11)" in refused(lambda: block(torch.randn(2, 5, 11)))


def test_queries_and_keys_of_different_width_are_refused() -> None:
    q, k = torch.randn(2, 5, 4), torch.randn(2, 6, 3)
    found = refused(lambda: scaled_dot_product_attention(q, k, k))
    assert "query has shape (2, 5, 4) and the key (2, 6, 3)" in found and "d_k" in found


def test_keys_without_values_are_refused() -> None:
    q, k = torch.randn(2, 5, 4), torch.randn(2, 6, 4)
    found = refused(lambda: scaled_dot_product_attention(q, k, k[:, 1:]))
    assert "key has shape (2, 6, 4) and the value (2, 5, 4)" in found


@pytest.mark.parametrize(
    "block",
    [
        FeedForwardBlock(D_MODEL, 7, 0.0),
        ActivatedFeedForwardBlock(D_MODEL, 7, 0.0, torch.relu),
        LayerNormalization(D_MODEL),
        BiasedLayerNormalization(D_MODEL),
        ProjectionLayer(D_MODEL, 30),
    ],
    ids=lambda block: type(block).__name__,
)
def test_a_wrong_last_dimension_is_refused(block: torch.nn.Module) -> None:
    found = refused(lambda: block(torch.randn(2, 5, 11)))
    assert "x has shape (2, 5, 11) and dtype float32" in found
    assert f"last dimension is {D_MODEL}" in found
    found = refused(lambda: block(torch.zeros(2, 5, D_MODEL, dtype=torch.int64)))
    assert "dtype int64" in found and "floating-point" in found


def test_a_residual_connection_names_the_wrong_width_of_its_norm() -> None:
    residual = ResidualConnection(D_MODEL, 0.0)
    found = refused(lambda: residual(torch.randn(2, 5, 11), lambda y: y))
    assert "(2, 5, 11)" in found and f"last dimension is {D_MODEL}" in found


@pytest.mark.parametrize("kind", [PositionalEncoding, LearnedPositions])
def test_positions_refuse_vectors_without_a_batch_with_the_repair(
    kind: Callable[..., torch.nn.Module],
) -> None:
    x: Tensor = torch.randn(5, D_MODEL)
    positions = kind(D_MODEL, 9)
    found = refused(lambda: positions(x))
    assert "x has shape (5, 12)" in found and "x.unsqueeze(0)" in found
    assert positions(x.unsqueeze(0)).shape == (1, 5, D_MODEL)  # the repair works
    assert "last dimension" not in found and "d_model=12" in found


@pytest.mark.parametrize("kind", [PositionalEncoding, LearnedPositions])
def test_no_position_is_before_the_first(kind: Callable[..., nn.Module]) -> None:
    positions = kind(D_MODEL, 9)
    found = refused(lambda: positions(torch.randn(1, 2, D_MODEL), start=-3))
    assert "start=-3 is negative" in found


def block(*features: object, dropout: float = 0.1) -> EncoderBlock:
    attention, feed_forward = MultiHeadAttentionBlock(12, 3, 0.0), FeedForwardBlock(12, 7, 0.0)
    return EncoderBlock(*features, attention, feed_forward, dropout)


@pytest.mark.parametrize("stack", [Encoder, Decoder])
@pytest.mark.parametrize("features", [(), (D_MODEL,)], ids=["", "features first"])
@pytest.mark.parametrize("make", [list, tuple, iter])
def test_layers_whose_parameters_would_not_be_found_are_refused(
    stack: Callable[..., nn.Module], features: tuple[int, ...], make: Callable[..., object]
) -> None:
    layers = make([block(), block()])
    found = refused(lambda: stack(*features, layers))
    assert f"layers is a {type(layers).__name__}; give nn.ModuleList(layers)" in found
    held = stack(*features, nn.ModuleList([block(), block()]))  # the repair works
    assert len(list(held.parameters())) == 2 * len(list(block().parameters())) + 2


def test_features_may_be_a_number_of_numpy() -> None:
    assert [r.norm.alpha.numel() for r in block(np.int64(D_MODEL)).residual_connections] == [12] * 2
    assert ResidualConnection(np.int64(D_MODEL), np.float32(0.5)).dropout.p == 0.5


@pytest.mark.parametrize("features", [1, 0, -12, 12.0, np.int64(1)])
def test_a_number_that_is_neither_features_nor_dropout_is_refused(features: float) -> None:
    for call in (lambda: block(features), lambda: ResidualConnection(features, 0.1)):
        found = refused(call)
        assert f"was given {features} and 0.1" in found and "(a whole number above 1)" in found
    assert "was given 12 and 2" in refused(lambda: block(12, dropout=2))


HEADS = torch.randn(2, 3, 5, 4)


@pytest.mark.parametrize(
    "wrong",
    [HEADS.long(), HEADS[0, 0, 0], HEADS.numpy(), [[1.0]]],
    ids=["integers", "one axis", "array", "list"],
)
@pytest.mark.parametrize("position", [0, 1, 2])
def test_attention_over_something_else_than_vectors_is_refused(
    position: int, wrong: object
) -> None:
    inputs: list[object] = [HEADS, HEADS, HEADS]
    inputs[position] = wrong
    found = refused(lambda: scaled_dot_product_attention(*inputs))
    assert found.startswith("QKV"[position]) and "floating-point vectors" in found


def test_queries_and_keys_of_different_batches_are_refused_with_all_shapes() -> None:
    k = torch.randn(4, 3, 5, 4)
    found = refused(lambda: scaled_dot_product_attention(HEADS, k, k))
    assert "Q has shape (2, 3, 5, 4), K (4, 3, 5, 4) and V (4, 3, 5, 4)" in found
    assert scaled_dot_product_attention(HEADS[:1], k, k)[0].shape == (4, 3, 5, 4)  # one for all


@pytest.mark.parametrize("call", [padding_mask, decoder_mask, shift_right])
def test_masks_and_targets_are_made_from_ids_of_a_batch(call: Callable[..., Tensor]) -> None:
    ids = torch.tensor([[5, 7, 0]])
    assert call(ids, 0).shape[0] == 1
    assert "unsqueeze(0)" in refused(lambda: call(ids[0], 0))
    assert "is of type list; expected integer" in refused(lambda: call([[5, 7, 0]], 0))
    assert "is of type ndarray; expected integer" in refused(lambda: call(ids.numpy(), 0))


def test_a_model_without_padding_has_no_padding_mask() -> None:
    ids = torch.tensor([[5, 7, 0]])
    assert "pad_id is None" in refused(lambda: padding_mask(ids, None))
    assert "pad_id is None" in refused(lambda: decoder_mask(ids, None))


def test_the_size_of_a_look_ahead_mask_is_a_number() -> None:
    ids = torch.tensor([[5, 7, 0]])
    found = refused(lambda: look_ahead_mask(ids))
    assert "size has shape (1, 3)" in found and "ids.shape[1]" in found
    assert look_ahead_mask(ids.shape[1]).shape == (1, 1, 3, 3)  # the repair works


def test_a_translator_refuses_a_mask_of_two_axes_which_could_be_of_batch_and_key() -> None:
    model = build_transformer(11, 13, 9, 8, d_model=12, N=1, h=3, d_ff=20)
    src, tgt = torch.randint(3, 11, (7, 7)), torch.randint(3, 13, (7, 7))
    flat = src != 5
    memory = model.encode(src, padding_mask(src, 5))
    assert "src_mask has shape (7, 7)" in refused(lambda: model.encode(src, flat))
    assert "src_mask has shape (7, 7)" in refused(lambda: model.decode(memory, flat, tgt))
    # That of a target is (query, key), as torch.nn.Transformer generates it.
    causal = nn.Transformer.generate_square_subsequent_mask(7)
    expected = model.eval().decode(memory, None, tgt, look_ahead_mask(7))
    assert torch.equal(model.decode(memory, None, tgt, causal), expected)


def test_a_size_that_no_module_can_have_is_refused() -> None:
    for d_model, h in ((-12, 3), (0, 1), (2, 3)):
        assert f"d_model={d_model} is not" in refused(
            lambda d_model=d_model, h=h: MultiHeadAttentionBlock(d_model, h, 0.0)
        )
        assert f"d_model={d_model} is not" in refused(
            lambda d_model=d_model, h=h: MultiHeadAttention(d_model, h)
        )
    assert "size is -1" in refused(lambda: look_ahead_mask(-1))
    assert "size is 2.5" in refused(lambda: look_ahead_mask(2.5))  # type: ignore[arg-type]
    assert "seq_len=0" in refused(lambda: PositionalEncoding(12, max_len=0)(torch.ones(1, 1, 12)))


def test_vectors_of_two_dtypes_or_of_no_dimension_are_refused() -> None:
    q, k = torch.randn(2, 4, 5), torch.randn(2, 6, 5)
    assert "K has shape (2, 6, 5) and dtype float64" in refused(
        lambda: scaled_dot_product_attention(q, k.double(), k)
    )
    assert "Q has shape (2, 4, 0)" in refused(
        lambda: scaled_dot_product_attention(q[..., :0], k[..., :0], k)
    )


def test_a_padding_id_of_text_is_refused() -> None:
    assert "pad_id is '0'" in refused(lambda: padding_mask(torch.ones(2, 3).long(), "0"))  # type: ignore[arg-type]
