"""Masks, True = visible, in each form in use; and the shift of the target."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from clearhead.blocks import (
    MultiHeadAttentionBlock,
    decoder_mask,
    look_ahead_mask,
    padding_mask,
    scaled_dot_product_attention,
    shift_right,
)
from clearhead.errors import UserError

PAD, BOS, EOS = 0, 1, 2
sentences = st.integers(1, 7).flatmap(
    lambda length: st.lists(
        st.lists(st.integers(0, 5), min_size=length, max_size=length), min_size=1, max_size=4
    )
)


@given(sentences)
def test_a_decoder_position_sees_the_words_up_to_itself(rows: list[list[int]]) -> None:
    mask = decoder_mask(torch.tensor(rows), PAD)
    length = len(rows[0])
    assert mask.shape == (len(rows), 1, length, length)
    for b, row in enumerate(rows):
        for i in range(length):
            for j in range(length):
                assert mask[b, 0, i, j] == (j <= i and row[j] != PAD)


@given(sentences)
def test_the_decoder_mask_is_padding_and_look_ahead(rows: list[list[int]]) -> None:
    ids = torch.tensor(rows)
    both = padding_mask(ids, PAD) & look_ahead_mask(ids.shape[1])
    assert torch.equal(decoder_mask(ids, PAD), both)
    assert padding_mask(ids, PAD).shape == (ids.shape[0], 1, 1, ids.shape[1])
    assert look_ahead_mask(ids.shape[1]).shape == (1, 1, ids.shape[1], ids.shape[1])


@given(sentences)
def test_every_label_is_predicted_from_the_labels_before_it(rows: list[list[int]]) -> None:
    labels = torch.tensor(rows)
    kept = labels.clone()
    shifted = shift_right(labels, BOS)
    assert (shifted[:, 0] == BOS).all()
    assert torch.equal(shifted[:, 1:], labels[:, :-1])
    assert torch.equal(labels, kept)


def test_the_table_of_the_docstring() -> None:
    labels = torch.tensor([[7, 8, 9, EOS]])
    assert shift_right(labels, BOS).tolist() == [[BOS, 7, 8, 9]]


@pytest.mark.parametrize("kind", [torch.int64, torch.uint8, torch.float32])
def test_zeros_and_ones_are_a_mask(kind: torch.dtype) -> None:
    x = torch.randn(2, 3, 5, 4)
    mask = look_ahead_mask(5)
    expected, _ = scaled_dot_product_attention(x, x, x, mask)
    output, _ = scaled_dot_product_attention(x, x, x, mask.to(kind))
    assert torch.equal(output, expected)


@pytest.mark.parametrize("low", [float("-inf"), -1e9, -1e4, torch.finfo(torch.float32).min])
def test_an_additive_mask_hides_what_its_boolean_form_hides(low: float) -> None:
    x = torch.randn(2, 5, 4)
    visible = look_ahead_mask(5)[0, 0]
    additive = torch.zeros(5, 5).masked_fill(~visible, low)
    expected, _ = scaled_dot_product_attention(x, x, x, visible)
    output, weights = scaled_dot_product_attention(x, x, x, additive)
    assert torch.equal(output, expected) and not weights[:, ~visible].any()


@pytest.mark.parametrize("size", [1, 5])
def test_the_causal_mask_of_torch_is_ours(size: int) -> None:
    x = torch.randn(2, size, 4)
    theirs = nn.Transformer.generate_square_subsequent_mask(size)
    ours, _ = scaled_dot_product_attention(x, x, x, look_ahead_mask(size)[0])
    assert torch.equal(scaled_dot_product_attention(x, x, x, theirs)[0], ours)


def test_an_additive_mask_of_zeros_hides_nothing_and_an_integer_mask_of_zeros_everything() -> None:
    block = MultiHeadAttentionBlock(12, 4, 0.0)
    q, k = torch.randn(2, 5, 12), torch.randn(2, 6, 12)
    assert torch.equal(block(q, k, k, torch.zeros(5, 6)), block(q, k, k))
    block(q, k, k, torch.zeros(5, 6, dtype=torch.int64))
    assert block.attention_scores is not None and not block.attention_scores.any()


@pytest.mark.parametrize("value", [0.5, -0.5, -100.0, 2.0, float("nan")])
def test_a_mask_of_biases_is_refused_with_its_shape_and_the_value(value: float) -> None:
    x, mask = torch.randn(2, 5, 4), torch.zeros(5, 5)
    mask[3, 1] = value
    with pytest.raises(UserError, match=rf"the mask has shape \(5, 5\) and holds {value:g}; expec"):
        scaled_dot_product_attention(x, x, x, mask)


@pytest.mark.parametrize(
    "shape",
    [(2, 5, 6), (4, 5, 6), (2, 6), (1, 1, 6, 5), (3, 1, 5, 6), (2, 1, 1, 7), (2, 1, 1, 5, 6)],
    ids=str,
)
def test_a_mask_over_the_wrong_axes_is_refused_with_both_shapes(shape: tuple[int, ...]) -> None:
    block = MultiHeadAttentionBlock(12, 4, 0.0)
    q, k = torch.randn(2, 5, 12), torch.randn(2, 6, 12)
    with pytest.raises(UserError, match=r"batch=2, query=5, key=6") as caught:
        block(q, k, k, torch.ones(shape, dtype=torch.bool))
    assert str(shape) in str(caught.value)


@pytest.mark.parametrize(
    "shape",
    [(5, 6), (1, 5, 6), (1, 1, 6), (1, 1, 5, 6), (2, 1, 1, 6), (2, 1, 5, 6), (2, 4, 5, 6), (6,)],
    ids=str,
)
def test_every_mask_that_broadcasts_by_its_own_axes_is_taken(shape: tuple[int, ...]) -> None:
    block = MultiHeadAttentionBlock(12, 4, 0.0)
    q, k = torch.randn(2, 5, 12), torch.randn(2, 6, 12)
    assert block(q, k, k, torch.ones(shape, dtype=torch.bool)).shape == (2, 5, 12)


def test_no_guess_where_batch_and_heads_are_equal() -> None:
    block = MultiHeadAttentionBlock(12, 4, 0.0)
    x = torch.randn(4, 5, 12)  # a (4, 5, 5) mask would silently become one mask a head
    with pytest.raises(UserError, match=r"\(4, 5, 5\)"):
        block(x, x, x, torch.ones(4, 5, 5, dtype=torch.bool))


@pytest.mark.parametrize(
    "shape", [(4, 5, 6), (4, 4, 5, 7), (7, 1, 5, 6), (3, 3), (6, 5), (1, 4, 4, 5, 6)], ids=str
)
def test_the_dot_product_refuses_a_mask_over_other_axes_than_its_scores(
    shape: tuple[int, ...],
) -> None:
    q, k = torch.randn(4, 4, 5, 3), torch.randn(4, 4, 6, 3)  # as many sentences as heads
    with pytest.raises(UserError, match="batch=4, query=5, key=6; give"):
        scaled_dot_product_attention(q, k, k, torch.ones(shape).bool())


@pytest.mark.parametrize("lead", [(), (3,), (3, 2), (3, 2, 4)], ids=str)
def test_the_dot_product_takes_a_mask_of_its_scores_axes_and_adds_none(
    lead: tuple[int, ...],
) -> None:
    q, k = torch.randn(*lead, 5, 3), torch.randn(*lead, 6, 3)
    for shape in ((*lead, 5, 6), (5, 6), (6,), (*lead, 1, 1)):
        output, _ = scaled_dot_product_attention(q, k, k, torch.ones(shape).bool())
        assert output.shape == q.shape
    with pytest.raises(UserError, match="query=5, key=6; give"):
        scaled_dot_product_attention(q, k, k, torch.ones(1, *lead, 5, 6).bool())


def test_the_repair_of_a_mask_with_too_few_axes_works() -> None:
    x, visible = torch.randn(4, 4, 5, 3), torch.ones(4, 5, 5).bool().tril()
    with pytest.raises(UserError, match=r"\(batch, query, key\): mask\[:, None\]"):
        scaled_dot_product_attention(x, x, x, visible)
    assert scaled_dot_product_attention(x, x, x, visible[:, None])[0].shape == x.shape
    with pytest.raises(UserError, match=r"\(batch, key\): mask\[:, None, None\]"):
        scaled_dot_product_attention(x, x, x, visible[:, -1])
    assert scaled_dot_product_attention(x, x, x, visible[:, -1][:, None, None])[0].shape == x.shape


@pytest.mark.parametrize("value", [-10_000, -1, 2])
def test_integers_other_than_0_and_1_are_no_mask(value: int) -> None:
    x = torch.randn(2, 5, 4)
    mask = torch.zeros(2, 1, 5, dtype=torch.int64)
    mask[1, 0, 3] = value
    with pytest.raises(UserError, match=rf"shape \(2, 1, 5\) and holds {value}; .* of floats"):
        scaled_dot_product_attention(x, x, x, mask)


def test_a_mask_that_could_learn_or_is_complex_is_refused() -> None:
    x = torch.randn(2, 4, 6)
    learned = torch.zeros(4, 4, requires_grad=True)
    with pytest.raises(UserError, match="the mask requires a gradient"):
        scaled_dot_product_attention(x, x, x, learned)
    with pytest.raises(UserError, match="the mask is complex"):
        scaled_dot_product_attention(x, x, x, torch.ones(4, 4, dtype=torch.complex64))
