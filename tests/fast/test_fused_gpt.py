"""A GPT with a cache says what `Gpt.forward` says of the whole text, readable and fused."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from clearhead.errors import UserError
from clearhead.fast.fused_gpt import FusedGpt, can_fuse_gpt
from clearhead.fast.incremental_gpt import IncrementalGpt
from clearhead.fast.packed_linear import PlainLinear
from clearhead.fast.row_linear import RowLinear
from clearhead.models import Gpt, GptConfig

VOCAB, STEPS, WIDTH = 53, 21, 7
CLOSE = 1e-5
Decoder = IncrementalGpt | FusedGpt
DECODERS: dict[str, Callable[[nn.Module], Decoder]] = {
    "readable": IncrementalGpt,
    "fused": FusedGpt,
    "fused, a row at a time": lambda model: FusedGpt(model, RowLinear),
}


def gpt(activation: str = "gelu_new", dtype: torch.dtype = torch.float32) -> Gpt:
    """3 layers, 4 heads of 6; every weight random."""
    config = GptConfig(VOCAB, seq_len=40, d_model=24, layers=3, h=4, d_ff=28, activation=activation)
    model = Gpt.from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.05)
    return model.to(dtype)


def filled(texts: list[Tensor], lengths: tuple[int, ...], side: str) -> tuple[Tensor, Tensor]:
    """The beginnings of texts in one rectangle, and where they are no filling."""
    width = max(lengths)
    ids = torch.randint(0, VOCAB, (len(texts), width))  # filling may be anything
    real = torch.zeros(len(texts), width, dtype=torch.bool)
    for row, (text, length) in enumerate(zip(texts, lengths, strict=True)):
        place = slice(width - length, width) if side == "left" else slice(length)
        ids[row, place], real[row, place] = text[:length], True
    return ids, real


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("lengths", [(WIDTH, 3, 5), (WIDTH,) * 3, (1, 6, 2)])
@torch.no_grad()
def test_each_step_says_what_the_whole_text_says(
    decoder: str, side: str, lengths: tuple[int, ...]
) -> None:
    model = gpt()
    texts = [torch.randint(0, VOCAB, (length + STEPS,)) for length in lengths]
    whole = [model(text[None])[0] for text in texts]
    cached = DECODERS[decoder](model)
    hidden = cached.start(*filled(texts, lengths, side), STEPS)
    for step in range(STEPS):
        for row, length in enumerate(lengths):
            torch.testing.assert_close(
                hidden[row], whole[row][length - 1 + step], atol=CLOSE, rtol=0
            )
        following = [text[n + step] for text, n in zip(texts, lengths, strict=True)]
        hidden = cached.step(torch.stack(following))


@pytest.mark.parametrize("decoder", DECODERS)
@torch.no_grad()
def test_who_stays_does_not_notice_who_leaves(decoder: str) -> None:
    model, lengths = gpt(), (WIDTH, 3, 5)
    texts = [torch.randint(0, VOCAB, (length + STEPS,)) for length in lengths]
    cached = DECODERS[decoder](model)
    cached.start(*filled(texts, lengths, "left"), STEPS)
    cached.step(torch.stack([text[n] for text, n in zip(texts, lengths, strict=True)]))
    cached.keep(torch.tensor([2, 0]))
    hidden = cached.step(torch.stack([texts[2][lengths[2] + 1], texts[0][lengths[0] + 1]]))
    for row, own in enumerate((2, 0)):
        expected = model(texts[own][None, : lengths[own] + 2])[0, -1]
        torch.testing.assert_close(hidden[row], expected, atol=CLOSE, rtol=0)


@pytest.mark.parametrize("activation", ["gelu_new", "gelu", "relu"])
@torch.no_grad()
def test_in_double_precision_nothing_but_rounding_is_left(activation: str) -> None:
    model = gpt(activation, torch.float64)
    text = torch.randint(0, VOCAB, (2, WIDTH + 1))
    cached = FusedGpt(model, PlainLinear)
    cached.start(text[:, :-1], torch.ones(2, WIDTH, dtype=torch.bool), 1)
    found = cached.step(text[:, -1])
    torch.testing.assert_close(found, model(text)[:, -1], atol=1e-12, rtol=0)


@pytest.mark.parametrize("decoder", DECODERS)
def test_no_step_is_taken_beyond_the_positions(decoder: str) -> None:
    cached = DECODERS[decoder](gpt())
    cached.start(torch.zeros(1, 39, dtype=torch.long), torch.ones(1, 39, dtype=torch.bool), 2)
    cached.step(torch.tensor([1]))
    with pytest.raises(UserError, match="no room for token 41: this model has seq_len=40"):
        cached.step(torch.tensor([1]))


def test_a_learners_part_or_a_watched_one_is_not_fused() -> None:
    class Own(nn.Linear):
        pass

    assert can_fuse_gpt(gpt())
    own = gpt()
    own.decoder.layers[1].feed_forward_block.linear_1 = Own(24, 28)
    watched = gpt()
    watched.positions.register_forward_hook(lambda *_: None)
    assert not can_fuse_gpt(own) and not can_fuse_gpt(watched)
