"""What stands on an encoder: tied projections, heads, and ESM-2's token dropout."""

import pytest
import torch
from torch import nn

from clearhead.blocks import (
    Classifier,
    LayerNormalization,
    MaskedLanguageHead,
    PlainEmbeddings,
    Pooler,
    ProjectionLayer,
    TiedProjection,
    TokenDropoutEmbeddings,
    padding_mask,
)

D_MODEL, VOCAB, PAD, MASK = 6, 11, 1, 10


def test_a_tied_projection_is_a_projection_with_the_tables_matrix() -> None:
    table = nn.Embedding(VOCAB, D_MODEL)
    tied = TiedProjection(table, nn.Parameter(torch.randn(VOCAB)))
    plain = ProjectionLayer(D_MODEL, VOCAB)
    plain.load_state_dict({"proj.weight": table.weight, "proj.bias": tied.bias})
    x = torch.randn(2, 5, D_MODEL)
    torch.testing.assert_close(tied(x), plain(x))
    torch.testing.assert_close(tied.logits(x), plain.logits(x))


def test_a_tied_matrix_learns_from_both_ends() -> None:
    embed = PlainEmbeddings(D_MODEL, VOCAB)
    tied = TiedProjection(embed.embedding)
    assert [name for name, _ in tied.named_parameters()] == ["table.weight"]  # no bias
    tied.logits(embed(torch.tensor([[3]]))).sum().backward()
    grad = embed.embedding.weight.grad
    assert grad is not None and grad.abs().sum(dim=1).gt(0).all()


def test_the_pooler_looks_at_the_first_token_alone() -> None:
    pooler = Pooler(D_MODEL)
    x = torch.randn(2, 5, D_MODEL)
    expected = torch.tanh(x[:, 0] @ pooler.linear.weight.T + pooler.linear.bias)
    torch.testing.assert_close(pooler(x), expected)


def test_a_classifier_serves_texts_and_tokens() -> None:
    classifier = Classifier(D_MODEL, 4, 0.5).eval()
    x = torch.randn(2, 5, D_MODEL)
    assert classifier(x).shape == (2, 5, 4)
    torch.testing.assert_close(classifier(x[:, 3]), classifier(x)[:, 3])


def test_the_masked_language_head_is_its_formula() -> None:
    table, norm = nn.Embedding(VOCAB, D_MODEL), LayerNormalization(D_MODEL)
    head = MaskedLanguageHead(table, torch.relu, norm)
    nn.init.normal_(head.projection.get_parameter("bias"))
    x = torch.randn(2, 5, D_MODEL)
    inner = norm(torch.relu(x @ head.linear.weight.T + head.linear.bias))
    expected = inner @ table.weight.T + head.projection.get_parameter("bias")
    torch.testing.assert_close(head(x), expected)


def esm(ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    embed = TokenDropoutEmbeddings(D_MODEL, VOCAB, MASK)
    return embed(ids, padding_mask(ids, PAD)), embed.embedding.weight


def test_masked_and_padded_tokens_are_silent() -> None:
    ids = torch.tensor([[3, MASK, 5, 7, PAD], [MASK, 4, PAD, PAD, PAD]])
    found, _ = esm(ids)
    silent = (ids == MASK) | (ids == PAD)
    assert found[silent].eq(0).all() and found[~silent].ne(0).all()


def test_the_others_speak_up_for_the_share_that_is_masked() -> None:
    ids = torch.tensor([[3, MASK, 5, 7, PAD], [2, 4, 9, PAD, PAD]])
    found, table = esm(ids)
    torch.testing.assert_close(found[0, 2], table[5] * (1 - 0.12) / (1 - 1 / 4))
    torch.testing.assert_close(found[1, 1], table[4] * (1 - 0.12))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_the_number_format_stays(dtype: torch.dtype) -> None:
    ids = torch.tensor([[3, MASK, 5]])
    embed = TokenDropoutEmbeddings(D_MODEL, VOCAB, MASK).to(dtype)
    assert embed(ids, padding_mask(ids, PAD)).dtype == dtype


def test_a_sequence_of_masks_or_of_padding_is_zero() -> None:
    ids = torch.tensor([[MASK, MASK, PAD], [PAD, PAD, PAD], [MASK, 4, MASK]])
    found, table = esm(ids)
    assert found[:2].eq(0).all()
    torch.testing.assert_close(found[2, 1], table[4] * (1 - 0.12) / (1 - 2 / 3))
