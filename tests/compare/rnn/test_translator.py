"""What must hold for every recurrent translator, as it holds for the Transformer."""

import pytest
import torch
from torch import Tensor

from clearhead.blocks import padding_mask
from clearhead.compare.rnn.entrants import NAMES, RECURRENT, make, sizes
from clearhead.compare.rnn.greedy import translate
from clearhead.compare.rnn.translator import RnnTranslator
from clearhead.errors import UserError
from tests.compare.rnn.sizes import TINY

every_rnn = pytest.mark.parametrize("name", RECURRENT)


def made(name: str) -> RnnTranslator:
    model = make(name, TINY, seed=3)
    assert isinstance(model, RnnTranslator)
    return model.double().eval()


def pair() -> tuple[Tensor, Tensor]:
    ids = torch.Generator().manual_seed(5)
    return torch.randint(3, 41, (3, 6), generator=ids), torch.randint(3, 41, (3, 4), generator=ids)


@every_rnn
def test_padding_changes_nothing(name: str) -> None:
    model, (src, tgt) = made(name), pair()
    alone = model.decode(model.encode(src, padding_mask(src, 0)), padding_mask(src, 0), tgt)
    longer = torch.cat([src, torch.zeros(3, 5, dtype=torch.long)], 1)
    company = torch.randint(3, 41, (1, 11), generator=torch.Generator().manual_seed(6))
    batch = torch.cat([longer, company])  # a long neighbour, so that the padding is real
    mask = padding_mask(batch, 0)
    together = model.decode(model.encode(batch, mask), mask, torch.cat([tgt, tgt[:1]]))
    torch.testing.assert_close(together[:3], alone)


@every_rnn
def test_teacher_forced_is_stepwise(name: str) -> None:
    model, (src, tgt) = made(name), pair()
    mask = padding_mask(src, 0)
    memory = model.encode(src, mask)
    forced = model.decode(memory, mask, tgt)
    carried, stepwise = model.start(memory, mask), []
    for ids in tgt.unbind(1):
        hidden, carried = model.step(ids, carried)
        stepwise.append(hidden)
    torch.testing.assert_close(torch.stack(stepwise, 1), forced)


@every_rnn
def test_nobody_sees_what_comes_later(name: str) -> None:
    model, (src, tgt) = made(name), pair()
    mask = padding_mask(src, 0)
    memory = model.encode(src, mask)
    other = tgt.clone()
    other[:, 2:] = 7
    torch.testing.assert_close(
        model.decode(memory, mask, other)[:, :2], model.decode(memory, mask, tgt)[:, :2]
    )


@every_rnn
def test_greedy_follows_the_likeliest_token_whatever_the_company(name: str) -> None:
    model = made(name)
    sources = [[5, 9, 2], [4, 8, 7, 30, 2], [11, 2]]
    found = translate(model, sources, limit=6)
    assert [translate(model, [source], limit=6)[0] for source in sources] == found
    src = torch.tensor(sources[1:2])
    mask = padding_mask(src, 0)
    written = torch.tensor([[1, *found[1]]])
    scores = model.project(model.decode(model.encode(src, mask), mask, written))
    assert scores.argmax(-1)[0, : len(found[1])].tolist() == found[1]


def test_all_have_the_same_number_of_parameters_within_two_percent() -> None:
    found = dict(sizes(TINY))
    assert list(found) == NAMES
    wanted = found["Transformer"].parameters
    assert all(abs(size.parameters / wanted - 1) <= 0.02 for size in found.values())
    # Attention costs parameters, so the state beside it must be narrower.
    assert found["GRU + attention"].hidden < found["GRU"].hidden
    assert found["LSTM"].hidden < found["GRU"].hidden


def test_sizes_that_cannot_be_matched_are_refused() -> None:
    from dataclasses import replace

    tiny = replace(TINY, d_model=4, h=2, d_ff=4, encoder_layers=1, decoder_layers=1)
    with pytest.raises(UserError, match="take a larger d_model"):
        make("LSTM", tiny, seed=1)


def test_the_same_seed_makes_the_same_weights_and_leaves_the_generator_alone() -> None:
    torch.manual_seed(8)
    before = torch.random.get_rng_state()
    first, second = (make("LSTM", TINY, seed=2).state_dict() for _ in range(2))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(torch.equal(first[name], second[name]) for name in first)
