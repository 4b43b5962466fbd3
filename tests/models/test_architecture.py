"""A model prints as a tree: its parts, the shape of every weight, how many numbers."""

import torch

from clearhead.models import Transformer, TransformerConfig, count_parameters, tree


def model(tie: bool = True) -> Transformer:
    return Transformer.from_config(
        TransformerConfig(20, 20, 9, 8, 12, 3, 2, h=3, d_ff=7, tie_embeddings=tie)
    )


def test_the_first_line_is_the_total_of_what_is_learned() -> None:
    made = model()
    assert repr(made) == tree(made)
    assert repr(made).splitlines()[0] == f"Transformer · {count_parameters(made):,} parameters"
    assert count_parameters(made) == sum(p.numel() for p in set(made.parameters()))


def test_equal_layers_are_folded_into_one_line_with_their_number() -> None:
    lines = repr(model()).splitlines()
    folded = [line for line in lines if "×" in line]
    assert any("0 … 2: 3 × EncoderBlock" in line for line in folded)
    assert any("0 … 1: 2 × DecoderBlock" in line for line in folded)
    assert any("0 … 2: 3 × ResidualConnection" in line and "each" in line for line in folded)
    assert len(lines) < 60


def test_a_layer_that_differs_is_not_folded() -> None:
    made = model()
    made.encoder.layers[1].feed_forward_block.linear_1 = torch.nn.Linear(12, 7, bias=False)
    lines = [line for line in repr(made).splitlines() if "EncoderBlock" in line]
    assert len(lines) == 3


def test_every_weight_shows_its_shape() -> None:
    text = repr(model())
    for expected in (
        "embedding: Embedding weight (20, 12) · 240",
        "w_q: Linear weight (12, 12), bias (12,) · 156",
        "linear_1: Linear weight (7, 12), bias (7,) · 91",
        "LayerNormalization alpha (12,), bias (12,) · 24",
    ):
        assert expected in text


def test_a_branch_counts_what_is_below_it() -> None:
    made = model()
    for name in ("encoder", "decoder"):
        count = sum(p.numel() for p in getattr(made, name).parameters())
        assert f"{name}: {name.title()} · {count:,}" in repr(made)


def test_a_shared_matrix_is_marked_where_it_is_met_again() -> None:
    tied = [line for line in repr(model(tie=True)).splitlines() if "weight (20, 12)" in line]
    assert ["(shared)" in line for line in tied] == [False, True, True]
    assert "(shared)" not in repr(model(tie=False))
