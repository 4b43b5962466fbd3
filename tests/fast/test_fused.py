from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from clearhead.blocks import READABLE, FeedForwardBlock, look_ahead_mask, padding_mask
from clearhead.blocks.attention import MultiHeadAttentionBlock
from clearhead.blocks.normalization import LayerNormalization
from clearhead.errors import UserError
from clearhead.fast import accelerate
from clearhead.fast.fused_decoder import CAPACITY, FusedDecoder
from clearhead.fast.fused_encoder import FusedEncoder
from clearhead.fast.fused_parts import is_standard
from clearhead.fast.incremental import IncrementalDecoder
from clearhead.models import Transformer, TransformerConfig
from clearhead.models.marian import Marian
from tests.decoding.tiny import VARIANTS, make_marian, make_model

SENTENCES, STEPS = 4, 21


def without_bias(d_model: int, h: int, dropout: float) -> nn.Module:
    return MultiHeadAttentionBlock(d_model, h, dropout, bias=False)


def marian() -> Marian:
    """Halved waves, swish, another norm; words without the factor where the paper has it."""
    plain = replace(make_marian().config, scale_embedding=False)
    return Marian.from_config(plain).eval()


def models() -> list[Transformer]:
    """Pre- and post-norm, tied and not, with and without bias, readable and accelerated; Marian.

    In float64 and with norms of a tiny epsilon, which the fused kernel has elsewhere in its
    formula (`FusedLayerNormalization` says how much that matters).
    """
    bare = Transformer.from_config(make_model().config, replace(READABLE, attention=without_bias))
    every = [*(make_model(*v) for v in VARIANTS), make_marian(), marian()]
    every += [make_model("post"), bare.eval()]
    for model in every:
        for module in model.double().modules():
            if type(module) is LayerNormalization:
                module.eps = 1e-12
    accelerate(every[-2])
    return every


MODELS = models()


def sources(model: Transformer, count: int = SENTENCES, width: int = 7) -> tuple[Tensor, Tensor]:
    src = torch.randint(3, model.config.src_vocab_size, (count, width))
    src[1, 4:] = src[-1, 2:] = model.config.pad_id
    return src, padding_mask(src, model.config.pad_id)


def targets(model: Transformer, rows: int, steps: int = STEPS) -> Tensor:
    tgt = torch.randint(3, model.config.tgt_vocab_size, (rows, steps))
    tgt[:, 0] = model.config.bos_id
    return tgt


@torch.no_grad()
def forced(model: Transformer, memory: Tensor, mask: Tensor, tgt: Tensor, beams: int = 1) -> Tensor:
    memory, mask = memory.repeat_interleave(beams, 0), mask.repeat_interleave(beams, 0)
    return model.decode(memory, mask, tgt, look_ahead_mask(tgt.shape[1]))


@torch.no_grad()
def read(model: Transformer, count: int = SENTENCES, width: int = 7) -> tuple[Tensor, Tensor]:
    src, mask = sources(model, count, width)
    return model.encode(src, mask), mask


def begin(decoder: FusedDecoder, memory: Tensor, mask: Tensor, beams: int) -> None:
    """All beams from the first step on; a search lets them part after it."""
    decoder.start(memory, mask)
    decoder.reorder(torch.arange(len(memory)).repeat_interleave(beams))


@pytest.mark.parametrize("model", MODELS)
def test_the_fused_encoder_is_the_readable_one(model: Transformer) -> None:
    src, mask = sources(model)
    encoder = FusedEncoder(model)
    with torch.no_grad():
        for given in (mask, None):
            expected, found = model.encode(src, given), encoder(src, given)
            seen = mask[:, 0, 0]  # what stands at filling is nobody's business
            assert (found - expected)[seen].abs().max() <= 1e-9


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("beams", [1, 3])
def test_a_fused_step_is_the_readable_one(model: Transformer, beams: int) -> None:
    memory, mask = read(model)
    tgt = targets(model, SENTENCES * beams)
    expected = forced(model, memory, mask, tgt, beams)
    decoder = FusedDecoder(model)
    begin(decoder, memory, mask, beams)
    for t in range(STEPS):
        assert (decoder.step(tgt[:, t]) - expected[:, t]).abs().max() <= 1e-9


def test_beams_are_reranked_by_their_masks_alone() -> None:
    model, beams = MODELS[0], 2
    memory, mask = read(model)
    written, fresh = targets(model, SENTENCES * beams), targets(model, SENTENCES * beams)
    decoder = FusedDecoder(model)
    begin(decoder, memory, mask, beams)
    for t in range(STEPS):
        expected = forced(model, memory, mask, written[:, : t + 1], beams)[:, -1]
        assert (decoder.step(written[:, t]) - expected).abs().max() <= 1e-9
        partner = torch.randint(0, beams, (SENTENCES, beams))
        rows = (torch.arange(SENTENCES)[:, None] * beams + partner).flatten()
        decoder.reorder(rows)
        written = torch.cat([written[rows, : t + 1], fresh[:, t + 1 :]], dim=1)


@pytest.mark.parametrize("beams", [1, 3])
def test_those_who_stay_do_not_notice_who_left(beams: int) -> None:
    model = MODELS[0]
    memory, mask = read(model)
    tgt = targets(model, SENTENCES * beams)
    expected = forced(model, memory, mask, tgt, beams)
    staying = torch.tensor([0, 2])
    rows = (staying[:, None] * beams + torch.arange(beams)).flatten()
    decoder = FusedDecoder(model)
    begin(decoder, memory, mask, beams)
    for t in range(3):
        decoder.step(tgt[:, t])
    decoder.keep(staying)
    for t in range(3, STEPS):
        assert (decoder.step(tgt[rows, t]) - expected[rows, t]).abs().max() <= 1e-9


@pytest.mark.parametrize("decoder_type", [FusedDecoder, IncrementalDecoder])
@pytest.mark.parametrize("parting", [0, 1, 4])
def test_one_row_becomes_several_that_go_their_own_ways(
    decoder_type: type[FusedDecoder] | type[IncrementalDecoder], parting: int
) -> None:
    model, beams = MODELS[0], 3
    memory, mask = read(model)
    tgt = targets(model, SENTENCES * beams)
    tgt[:, :parting] = tgt[::beams, :parting].repeat_interleave(beams, 0)
    expected = forced(model, memory, mask, tgt, beams)
    decoder = decoder_type(model)
    decoder.start(memory, mask)
    for t in range(parting):
        alone = expected[::beams, t]
        assert (decoder.step(tgt[::beams, t]) - alone).abs().max() <= 1e-9
    decoder.reorder(torch.arange(SENTENCES).repeat_interleave(beams))
    for t in range(parting, STEPS):
        assert (decoder.step(tgt[:, t]) - expected[:, t]).abs().max() <= 1e-9


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("ahead", [0, 2])
def test_neither_newcomers_nor_those_who_stay_notice_each_other(beams: int, ahead: int) -> None:
    """Every few steps one place is given to a new sentence, past the first buffers' end.

    The newcomer has written `ahead` tokens already, elsewhere.
    """
    model = MODELS[1]
    memory, mask = read(model)
    decoder = FusedDecoder(model)
    begin(decoder, memory, mask, beams)
    tgt = targets(model, SENTENCES * beams, model.config.tgt_seq_len)
    ages = [0] * SENTENCES
    for t in range(2 * CAPACITY):
        if t % 5 == 4:
            place = t // 5 % SENTENCES
            decoder.retire([place])
            new, new_mask = read(model, 2, 5)
            newcomers = FusedDecoder(model)
            begin(newcomers, new, new_mask, beams)
            for early in range(ahead):
                newcomers.step(tgt.view(SENTENCES, beams, -1)[[2, place], :, early].flatten())
            decoder.replace(torch.tensor([place]), newcomers, torch.tensor([1]))
            new, new_mask = new[1:], new_mask[1:]
            memory = memory.clone()
            memory[place, :5], mask[place] = new, False
            mask[place, ..., :5], ages[place] = new_mask, ahead
        whole = forced(model, memory, mask, tgt, beams).view(SENTENCES, beams, -1, 12)
        ids = tgt.view(SENTENCES, beams, -1)[torch.arange(SENTENCES), :, ages].flatten()
        found = decoder.step(ids).view(SENTENCES, beams, 12)
        expected = whole[torch.arange(SENTENCES), :, ages]
        assert (found - expected).abs().max() <= 1e-9
        ages = [age + 1 for age in ages]


def test_long_translations_outgrow_their_first_room() -> None:
    config = TransformerConfig(9, 9, 4, 100, d_model=6, h=2, d_ff=5, decoder_layers=2, dropout=0.0)
    model = Transformer.from_config(config).eval()
    memory, mask = read(model, 2, 4)
    tgt = targets(model, 2, 100)
    expected = forced(model, memory, mask, tgt)
    decoder = FusedDecoder(model)
    decoder.start(memory, mask)
    for t in range(100):
        assert (decoder.step(tgt[:, t]) - expected[:, t]).abs().max() <= 1e-5


def test_no_position_left_is_said_with_the_number() -> None:
    model = MODELS[0]
    memory, mask = read(model)
    decoder = FusedDecoder(model)
    decoder.start(memory, mask)
    ids = targets(model, SENTENCES)[:, 1]
    for _ in range(model.config.tgt_seq_len):
        decoder.step(ids)
    with pytest.raises(UserError, match=r"token 30.*tgt_seq_len=29"):
        decoder.step(ids)


def test_blocks_of_others_and_watched_blocks_are_not_replaced() -> None:
    class OwnFeedForward(FeedForwardBlock):
        pass

    assert all(is_standard(model) for model in MODELS)
    own = Transformer.from_config(MODELS[0].config, replace(READABLE, feed_forward=OwnFeedForward))
    assert not is_standard(own)
    watched = make_model()
    watched.decoder.layers[1].self_attention_block.keep_attention_scores = True
    assert not is_standard(watched)
    hooked = make_model()
    hooked.decoder.layers[0].register_forward_hook(lambda *_: None)
    assert not is_standard(hooked)
