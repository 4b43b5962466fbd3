import pytest
import torch
from torch import Tensor

from clearhead.blocks import decoder_mask, padding_mask
from clearhead.errors import UserError
from clearhead.fast.incremental import IncrementalDecoder
from clearhead.models import Transformer
from tests.decoding.tiny import VARIANTS, make_model

SENTENCES, STEPS = 4, 21  # more steps than the cache holds at first


def sources(model: Transformer) -> tuple[Tensor, Tensor]:
    src = torch.randint(3, model.config.src_vocab_size, (SENTENCES, 7))
    src[1, 4:] = src[3, 2:] = model.config.pad_id
    mask = padding_mask(src, model.config.pad_id)
    with torch.no_grad():
        return model.encode(src, mask), mask


def targets(model: Transformer, rows: int) -> Tensor:
    tgt = torch.randint(3, model.config.tgt_vocab_size, (rows, STEPS))
    tgt[:, 0] = model.config.bos_id
    return tgt


def forced(model: Transformer, memory: Tensor, mask: Tensor, tgt: Tensor) -> Tensor:
    with torch.no_grad():
        return model.decode(memory, mask, tgt, decoder_mask(tgt, model.config.pad_id))


def begin(decoder: IncrementalDecoder, memory: Tensor, mask: Tensor, beams: int) -> None:
    decoder.start(memory, mask)
    decoder.reorder(torch.arange(len(memory)).repeat_interleave(beams))


@pytest.mark.parametrize(("norm", "tie"), VARIANTS)
def test_cached_equals_uncached_equals_teacher_forced_at_every_step(norm: str, tie: bool) -> None:
    model = make_model(norm, tie)
    memory, mask = sources(model)
    tgt = targets(model, SENTENCES)
    at_once = forced(model, memory, mask, tgt)
    decoder = IncrementalDecoder(model)
    decoder.start(memory, mask)
    for t in range(STEPS):
        cached = decoder.step(tgt[:, t])
        uncached = forced(model, memory, mask, tgt[:, : t + 1])[:, -1]
        assert (cached - uncached).abs().max() <= 1e-5
        assert (cached - at_once[:, t]).abs().max() <= 1e-5


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_beams_share_their_source_and_change_nothing(norm: str) -> None:
    model, beams = make_model(norm), 3
    memory, mask = sources(model)
    tgt = targets(model, SENTENCES * beams)
    copies = memory.repeat_interleave(beams, 0), mask.repeat_interleave(beams, 0)
    expected = forced(model, *copies, tgt)
    decoder = IncrementalDecoder(model)
    begin(decoder, memory, mask, beams)
    for t in range(STEPS):
        assert (decoder.step(tgt[:, t]) - expected[:, t]).abs().max() <= 1e-5


def test_a_reordered_row_goes_on_from_the_row_it_was_given() -> None:
    model, beams = make_model(), 2
    memory, mask = sources(model)
    tgt = targets(model, SENTENCES * beams)
    rows = torch.tensor([1, 1, 2, 3, 5, 4, 6, 6])
    mixed = torch.cat([tgt[rows, :5], tgt[:, 5:]], dim=1)
    copies = memory.repeat_interleave(beams, 0), mask.repeat_interleave(beams, 0)
    expected = forced(model, *copies, mixed)
    decoder = IncrementalDecoder(model)
    begin(decoder, memory, mask, beams)
    for t in range(STEPS):
        hidden = decoder.step(tgt[:, t] if t < 5 else mixed[:, t])
        if t == 4:
            decoder.reorder(rows)
        elif t > 4:
            assert (hidden - expected[:, t]).abs().max() <= 1e-5


@pytest.mark.parametrize("beams", [1, 3])
def test_those_who_stay_do_not_notice_who_left(beams: int) -> None:
    model = make_model()
    memory, mask = sources(model)
    tgt = targets(model, SENTENCES * beams)
    copies = memory.repeat_interleave(beams, 0), mask.repeat_interleave(beams, 0)
    expected = forced(model, *copies, tgt)
    staying = torch.tensor([0, 2])
    rows = torch.cat([torch.arange(s * beams, (s + 1) * beams) for s in staying.tolist()])
    decoder = IncrementalDecoder(model)
    begin(decoder, memory, mask, beams)
    for t in range(3):
        decoder.step(tgt[:, t])
    decoder.keep(staying)
    for t in range(3, STEPS):
        assert (decoder.step(tgt[rows, t]) - expected[rows, t]).abs().max() <= 1e-5


def test_no_mask_means_everything_may_be_seen() -> None:
    model = make_model()
    memory, mask = sources(model)
    decoder, masked = IncrementalDecoder(model), IncrementalDecoder(model)
    decoder.start(memory, None)
    masked.start(memory, torch.ones_like(mask))
    ids = targets(model, SENTENCES)[:, 0]
    torch.testing.assert_close(decoder.step(ids), masked.step(ids))
    decoder.keep(torch.tensor([1]))
    assert decoder.step(ids[:1]).shape == (1, model.config.d_model)


def test_no_position_left_is_said_with_the_number() -> None:
    model = make_model()
    memory, mask = sources(model)
    decoder = IncrementalDecoder(model)
    decoder.start(memory, mask)
    ids = targets(model, SENTENCES)[:, 1]
    for _ in range(model.config.tgt_seq_len):
        decoder.step(ids)
    with pytest.raises(UserError, match=r"token 30.*tgt_seq_len=29"):
        decoder.step(ids)
