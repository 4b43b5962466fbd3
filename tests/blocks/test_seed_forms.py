"""The teaching sources' calls and shape tables hold as they are written there."""

import inspect

import pytest
import torch
from torch import nn

from clearhead.blocks import (
    Decoder,
    DecoderBlock,
    Encoder,
    EncoderBlock,
    FeedForwardBlock,
    InputEmbeddings,
    LayerNormalization,
    MultiHeadAttention,
    MultiHeadAttentionBlock,
    PositionalEncoding,
    ProjectionLayer,
    ResidualConnection,
    SelfAttention,
    scaled_dot_product_attention,
)
from clearhead.models import Transformer, build_transformer

BATCH, SEQ_LEN, D_MODEL, MAX_SEQ_LEN = 32, 100, 512, 5000  # the walkthrough's example


@pytest.fixture(scope="module")
def embedded() -> torch.Tensor:
    return InputEmbeddings(D_MODEL, 1000)(torch.randint(0, 1000, (BATCH, SEQ_LEN)))


def test_table_step_1_and_2_ids_become_vectors(embedded: torch.Tensor) -> None:
    assert embedded.shape == (BATCH, SEQ_LEN, D_MODEL)


def test_table_step_3_the_reusable_buffer() -> None:
    positions = PositionalEncoding(D_MODEL, MAX_SEQ_LEN, 0.1)
    assert positions.pe.shape == (1, MAX_SEQ_LEN, D_MODEL)
    assert "pe" in dict(positions.named_buffers())


def test_table_step_4_the_forward_pass(embedded: torch.Tensor) -> None:
    positions = PositionalEncoding(D_MODEL, MAX_SEQ_LEN, 0.1)
    assert positions.pe[:, :SEQ_LEN].shape == (1, SEQ_LEN, D_MODEL)
    assert positions(embedded).shape == (BATCH, SEQ_LEN, D_MODEL)


def test_part_1_ids_2_by_4_become_2_by_4_by_512() -> None:
    x = torch.randint(0, 10_000, (2, 4))
    assert InputEmbeddings(512, 10_000)(x).shape == (2, 4, 512)


@pytest.mark.parametrize(
    ("block", "inner"),
    [(FeedForwardBlock(6, 11, 0.1), 11), (FeedForwardBlock(512, 2048, 0.1), 2048)],
)
def test_feed_forward_widens_and_narrows(block: FeedForwardBlock, inner: int) -> None:
    width = block.linear_1.in_features
    assert block.linear_1.out_features == block.linear_2.in_features == inner
    assert block(torch.randn(2, 3, width)).shape == (2, 3, width)


def test_the_static_attention_takes_heads_and_a_dropout() -> None:
    query = torch.randn(2, 8, 5, 64)  # (batch, h, seq_len, d_k)
    x, scores = MultiHeadAttentionBlock.attention(query, query, query, None, nn.Dropout(0.1))
    assert x.shape == (2, 8, 5, 64) and scores.shape == (2, 8, 5, 5)
    x, scores = MultiHeadAttentionBlock.attention(query, query, query, None, None)
    assert x.shape == (2, 8, 5, 64)


def test_multi_head_attention_block_has_the_sources_names() -> None:
    block = MultiHeadAttentionBlock(512, 8, 0.1)
    assert (block.d_model, block.h, block.d_k) == (512, 8, 64)
    for name in ("w_q", "w_k", "w_v", "w_o"):
        assert getattr(block, name).weight.shape == (512, 512)
    x = torch.randn(2, 5, 512)
    assert block(x, x, x, torch.ones(2, 1, 1, 5).int()).shape == (2, 5, 512)
    assert block(x, x, x, None).shape == (2, 5, 512)


def test_residual_connection_takes_its_sublayer_as_a_callable() -> None:
    residual = ResidualConnection(0.1)
    feed_forward = FeedForwardBlock(6, 11, 0.1)
    x = torch.randn(2, 3, 6)
    assert residual(x, lambda y: feed_forward(y)).shape == (2, 3, 6)
    assert residual(x, feed_forward).shape == (2, 3, 6)
    assert isinstance(residual.norm, LayerNormalization)


def test_chapter_3_runs_as_written() -> None:
    q, k, v = (torch.randn(1, 4, 8) for _ in range(3))
    output, weights = scaled_dot_product_attention(q, k, v)
    assert output.shape == (1, 4, 8) and weights.shape == (1, 4, 4)
    output, weights = SelfAttention(64)(torch.randn(2, 5, 64))
    assert output.shape == (2, 5, 64) and weights.shape == (2, 5, 5)
    output, weights = MultiHeadAttention(512, 8)(torch.randn(2, 10, 512))
    assert output.shape == (2, 10, 512) and weights.shape == (2, 8, 10, 10)
    encodings = PositionalEncoding(128, 50).pe[0, :50, :].numpy()
    assert encodings.shape == (50, 128)


def by_hand(d_model: int = 12, h: int = 3, d_ff: int = 7, dropout: float = 0.1) -> Transformer:
    """The guide's assembly, call by call."""

    def attention() -> MultiHeadAttentionBlock:
        return MultiHeadAttentionBlock(d_model, h, dropout)

    def feed_forward() -> FeedForwardBlock:
        return FeedForwardBlock(d_model, d_ff, dropout)

    encoder = Encoder(
        nn.ModuleList([EncoderBlock(attention(), feed_forward(), dropout) for _ in range(2)])
    )
    decoder = Decoder(
        nn.ModuleList(
            [DecoderBlock(attention(), attention(), feed_forward(), dropout) for _ in range(2)]
        )
    )
    return Transformer(
        encoder,
        decoder,
        InputEmbeddings(d_model, 20),
        InputEmbeddings(d_model, 30),
        PositionalEncoding(d_model, 9, dropout),
        PositionalEncoding(d_model, 8, dropout),
        ProjectionLayer(d_model, 30),
    )


def with_features(
    d_model: int = 12, h: int = 3, d_ff: int = 7, dropout: float = 0.1
) -> Transformer:
    """The assembly of hkproj/pytorch-transformer: the number of features comes first."""

    def attention() -> MultiHeadAttentionBlock:
        return MultiHeadAttentionBlock(d_model, h, dropout)

    def feed_forward() -> FeedForwardBlock:
        return FeedForwardBlock(d_model, d_ff, dropout)

    encoder_layers = [EncoderBlock(d_model, attention(), feed_forward(), dropout) for _ in range(2)]
    decoder_layers = [
        DecoderBlock(d_model, attention(), attention(), feed_forward(), dropout) for _ in range(2)
    ]
    return Transformer(
        Encoder(d_model, nn.ModuleList(encoder_layers)),
        Decoder(d_model, nn.ModuleList(decoder_layers)),
        InputEmbeddings(d_model, 20),
        InputEmbeddings(d_model, 30),
        PositionalEncoding(d_model, 9, dropout),
        PositionalEncoding(d_model, 8, dropout),
        ProjectionLayer(d_model, 30),
    )


def test_features_as_first_argument_give_one_alpha_for_each_feature() -> None:
    model = with_features()
    norms = [m for m in model.modules() if isinstance(m, LayerNormalization)]
    assert len(norms) == 2 * 2 + 2 * 3 + 2
    assert {norm.alpha.numel() for norm in norms} == {12}
    assert {
        norm.alpha.numel() for norm in by_hand().modules() if norm.__class__ in {LayerNormalization}
    } == {1}
    assert ResidualConnection(12, 0.3).dropout.p == 0.3
    built = build_transformer(20, 30, 9, 8, d_model=12, N=2, h=3, dropout=0.1, d_ff=7)
    assert list(model.state_dict()) == list(built.state_dict())


def test_features_before_the_dropout_are_recognized_too() -> None:
    block = EncoderBlock(MultiHeadAttentionBlock(12, 3, 0.1), FeedForwardBlock(12, 7, 0.1), 12, 0.3)
    assert [r.norm.alpha.numel() for r in block.residual_connections] == [12, 12]
    assert [r.dropout.p for r in block.residual_connections] == [0.3, 0.3]


@pytest.mark.parametrize("dropout", [0, 0.0, 1])
def test_a_dropout_that_is_a_whole_number_is_no_number_of_features(dropout: float) -> None:
    norm = LayerNormalization(12)
    residual = ResidualConnection(dropout, norm)
    assert residual.dropout.p == dropout and residual.norm is norm


@pytest.mark.parametrize(
    "model",
    [
        by_hand(),
        with_features(),
        build_transformer(20, 30, 9, 8, d_model=12, N=2, h=3, dropout=0.1, d_ff=7),
    ],
    ids=["by hand", "features first", "build_transformer"],
)
def test_a_whole_transformer_encodes_decodes_and_projects(model: Transformer) -> None:
    src, tgt = torch.randint(0, 20, (2, 5)), torch.randint(0, 30, (2, 4))
    src_mask, tgt_mask = torch.ones(2, 1, 1, 5).int(), torch.ones(1, 1, 4, 4).int().tril()
    encoder_output = model.encode(src, src_mask)
    assert encoder_output.shape == (2, 5, 12)
    decoder_output = model.decode(encoder_output, src_mask, tgt, tgt_mask)
    assert decoder_output.shape == (2, 4, 12)
    log_probabilities = model.project(decoder_output)
    assert log_probabilities.shape == (2, 4, 30)
    torch.testing.assert_close(log_probabilities.exp().sum(-1), torch.ones(2, 4))
    attention = model.decoder.layers[1].cross_attention_block
    assert attention.attention_scores.shape == (2, 3, 4, 5)  # as the sources plot it


def test_masks_are_optional_in_forward_as_in_encode_and_decode() -> None:
    model = by_hand(dropout=0.0)
    src, tgt = torch.randint(0, 20, (2, 5)), torch.randint(0, 30, (2, 4))
    expected = model.project(model.decode(model.encode(src), None, tgt))
    assert torch.equal(model(src, tgt), expected)
    assert torch.equal(model(src, tgt, torch.ones(2, 1, 1, 5).int()), expected)


def test_help_of_build_transformer_explains_each_argument_and_the_sources() -> None:
    text = inspect.getdoc(build_transformer) or ""
    for name in inspect.signature(build_transformer).parameters:
        assert f"\n    {name}: " in text, name
    for expected in ("pre-norm", "Returns:", "Raises:", "Source:", "table 3"):
        assert expected in text
