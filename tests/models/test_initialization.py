"""What a fresh model's numbers are, and the one matrix that three places share."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from clearhead.blocks import READABLE, FeedForwardBlock
from clearhead.models import Transformer, TransformerConfig, build_transformer, count_parameters

VOCABULARY, D_MODEL = 400, 48


def config(tie: bool) -> TransformerConfig:
    return TransformerConfig(
        VOCABULARY, VOCABULARY, 9, 9, D_MODEL, 2, 2, h=4, d_ff=64, tie_embeddings=tie
    )


def test_a_tied_model_has_one_table_in_one_storage() -> None:
    model = Transformer.from_config(config(tie=True))
    tables = (
        model.src_embed.embedding.weight,
        model.tgt_embed.embedding.weight,
        model.projection_layer.proj.weight,
    )
    assert len({table.data_ptr() for table in tables}) == 1
    assert tables[0] is tables[1] is tables[2]
    untied = Transformer.from_config(config(tie=False))
    assert count_parameters(untied) - count_parameters(model) == 2 * VOCABULARY * D_MODEL


def test_a_tied_table_learns_from_all_three_places() -> None:
    model = Transformer.from_config(config(tie=True))
    model(torch.tensor([[5]]), torch.tensor([[6]]), None, None)[0, 0, 7].backward()
    gradient = model.src_embed.embedding.weight.grad
    assert all(gradient[row].abs().sum() > 0 for row in (5, 6, 7))


@pytest.mark.parametrize("tie", [True, False], ids=["tied", "untied"])
def test_the_tables_have_the_spread_that_makes_unit_embeddings(tie: bool) -> None:
    model = Transformer.from_config(config(tie))
    for embed in (model.src_embed, model.tgt_embed):
        std = embed.embedding.weight.std().item()
        assert std == pytest.approx(D_MODEL**-0.5, rel=0.03)
        assert embed(torch.arange(VOCABULARY)[None]).std().item() == pytest.approx(1, rel=0.03)


def test_a_fresh_tied_model_has_logits_of_unit_size() -> None:
    model = Transformer.from_config(config(tie=True)).eval()
    src = tgt = torch.randint(3, VOCABULARY, (8, 9))
    logits = model.projection_layer.logits(model.decode(model.encode(src), None, tgt))
    assert 0.8 < logits.std().item() < 1.2


def test_the_matrices_are_xavier() -> None:
    model = Transformer.from_config(config(tie=True))
    linear = model.encoder.layers[0].feed_forward_block.linear_1
    bound = (6 / (linear.in_features + linear.out_features)) ** 0.5
    assert 0.98 * bound < linear.weight.abs().max().item() <= bound


def test_the_same_seed_gives_the_same_model() -> None:
    models = []
    for _ in range(2):
        torch.manual_seed(4)
        models.append(build_transformer(20, 30, 9, 8, d_model=12, N=2, h=3, d_ff=7))
    for one, other in zip(*(model.parameters() for model in models), strict=True):
        assert torch.equal(one, other)


def test_build_transformer_is_the_papers_base_model() -> None:
    with torch.device("meta"):
        model = build_transformer(37_000, 37_000, 100, 90)
    assert model.config == TransformerConfig(
        37_000, 37_000, 100, 90, d_model=512, encoder_layers=6, decoder_layers=6, h=8,
        d_ff=2048, dropout=0.1,
    )  # fmt: skip


def test_a_part_may_be_replaced_by_a_class_of_the_same_signature() -> None:
    class Mine(FeedForwardBlock):
        pass

    model = Transformer.from_config(config(tie=True), replace(READABLE, feed_forward=Mine))
    assert sum(isinstance(m, Mine) for m in model.modules()) == 4
    readable = Transformer.from_config(config(tie=True))
    readable.load_state_dict(model.state_dict())


def test_a_post_norm_model_ends_without_a_final_norm() -> None:
    model = Transformer.from_config(TransformerConfig(9, 9, 5, 5, 8, 1, 1, h=2, norm="post"))
    assert isinstance(model.encoder.norm, nn.Identity) and isinstance(
        model.decoder.norm, nn.Identity
    )


class BareProjection(nn.Module):
    def __init__(self, d_model: int, vocab_size: int) -> None:
        super().__init__()
        self.scores = nn.Linear(d_model, vocab_size, bias=False)


class BareEmbeddings(nn.Module):
    def __init__(self, d_model: int, vocab_size: int) -> None:
        super().__init__()
        self.rows = nn.Embedding(vocab_size, d_model)


def test_parts_with_names_of_their_own_are_initialized_as_well() -> None:
    parts = replace(READABLE, projection=BareProjection, embeddings=BareEmbeddings)
    model = Transformer.from_config(config(tie=False), parts)
    deviation = float(model.src_embed.get_parameter("rows.weight").detach().std())
    assert deviation == pytest.approx(D_MODEL**-0.5, rel=0.05)
    assert model.projection_layer.get_submodule("scores").bias is None
