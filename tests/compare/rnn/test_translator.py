"""Laws of every recurrent translator, as of the Transformer; additive attention is its formula."""

import pytest
import torch
from torch import Tensor

from clearhead.blocks import padding_mask
from clearhead.compare.rnn.layers import BahdanauAttention
from clearhead.compare.rnn.translator import (
    NAMES,
    RECURRENT,
    RnnTranslator,
    engine_of,
    make_model,
    model_sizes,
)
from clearhead.decoding import DecodingOptions
from clearhead.errors import UserError
from tests.compare.rnn.sizes import TINY

BATCH, SRC_LEN, HIDDEN = 3, 5, 7
every_rnn = pytest.mark.parametrize("name", RECURRENT)


def new_model(name: str) -> RnnTranslator:
    model = make_model(name, TINY, seed=3)
    assert isinstance(model, RnnTranslator)
    return model.double().eval()


def pair() -> tuple[Tensor, Tensor]:
    ids = torch.Generator().manual_seed(5)
    return torch.randint(3, 41, (3, 6), generator=ids), torch.randint(3, 41, (3, 4), generator=ids)


@every_rnn
def test_padding_does_not_change_the_output(name: str) -> None:
    model, (src, tgt) = new_model(name), pair()
    alone = model.decode(model.encode(src, padding_mask(src, 0)), padding_mask(src, 0), tgt)
    longer = torch.cat([src, torch.zeros(3, 5, dtype=torch.long)], 1)
    longest = torch.randint(3, 41, (1, 11), generator=torch.Generator().manual_seed(6))
    batch = torch.cat(
        [longer, longest]
    )  # a longer sentence in the batch, so that padding is needed
    mask = padding_mask(batch, 0)
    together = model.decode(model.encode(batch, mask), mask, torch.cat([tgt, tgt[:1]]))
    torch.testing.assert_close(together[:3], alone)


@every_rnn
def test_teacher_forcing_equals_stepwise_decoding(name: str) -> None:
    model, (src, tgt) = new_model(name), pair()
    mask = padding_mask(src, 0)
    memory = model.encode(src, mask)
    forced = model.decode(memory, mask, tgt)
    state, stepwise = model.start(memory, mask), []
    for ids in tgt.unbind(1):
        hidden, state = model.step(ids, state)
        stepwise.append(hidden)
    torch.testing.assert_close(torch.stack(stepwise, 1), forced)


@every_rnn
def test_earlier_outputs_do_not_depend_on_later_tokens(name: str) -> None:
    model, (src, tgt) = new_model(name), pair()
    mask = padding_mask(src, 0)
    memory = model.encode(src, mask)
    other = tgt.clone()
    other[:, 2:] = 7
    torch.testing.assert_close(
        model.decode(memory, mask, other)[:, :2], model.decode(memory, mask, tgt)[:, :2]
    )


@every_rnn
def test_greedy_takes_the_most_likely_token_and_a_batch_equals_single_sentences(name: str) -> None:
    model = new_model(name)
    sources = [[5, 9, 2], [4, 8, 7, 30, 2], [11, 2]]
    options = DecodingOptions(beam_size=1, min_length=0, max_length=6)
    engine = engine_of(model)
    found = [best[0].ids for best in engine.decode(sources, options)]
    assert [engine.decode([source], options)[0][0].ids for source in sources] == found
    src = torch.tensor(sources[1:2])
    mask = padding_mask(src, 0)
    written = torch.tensor([[1, *found[1]]])
    scores = model.project(model.decode(model.encode(src, mask), mask, written))
    assert scores.argmax(-1)[0, : len(found[1])].tolist() == found[1]


def test_all_models_have_the_same_number_of_parameters_within_two_percent() -> None:
    found = dict(model_sizes(TINY))
    assert list(found) == NAMES
    wanted = found["Transformer"].parameters
    assert all(abs(size.parameters / wanted - 1) <= 0.02 for size in found.values())
    # Attention has parameters of its own, so the state is narrower.
    assert found["GRU + attention"].hidden < found["GRU"].hidden
    assert found["LSTM"].hidden < found["GRU"].hidden


def test_sizes_that_cannot_be_matched_are_refused() -> None:
    from dataclasses import replace

    tiny = replace(TINY, d_model=4, h=2, d_ff=4, encoder_layers=1, decoder_layers=1)
    with pytest.raises(UserError, match="take a larger d_model"):
        make_model("LSTM", tiny, seed=1)


def test_the_same_seed_gives_the_same_weights_and_the_random_state_is_restored() -> None:
    torch.manual_seed(8)
    before = torch.random.get_rng_state()
    first, second = (make_model("LSTM", TINY, seed=2).state_dict() for _ in range(2))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(torch.equal(first[name], second[name]) for name in first)


def attention_example() -> tuple[BahdanauAttention, torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    attention = BahdanauAttention(HIDDEN).double()
    query = torch.randn(BATCH, HIDDEN, dtype=torch.float64)
    values = torch.randn(BATCH, SRC_LEN, HIDDEN, dtype=torch.float64)
    mask = torch.arange(SRC_LEN) < torch.tensor([[5], [2], [4]])
    return attention, query, values, mask


def test_attention_weights_sum_to_one_and_are_zero_at_padding() -> None:
    attention, query, values, mask = attention_example()
    _, weights = attention(query, attention.keys(values), values, mask)
    torch.testing.assert_close(weights.sum(-1), torch.ones(BATCH, dtype=torch.float64))
    assert (weights[~mask] == 0).all()
    assert (weights[mask] > 0).all()


def test_additive_attention_equals_its_formula() -> None:
    attention, query, values, mask = attention_example()
    context, weights = attention(query, attention.keys(values), values, mask)
    w, u, b = attention.w.weight, attention.u.weight, attention.u.bias
    v = attention.v.weight[0]
    for row in range(BATCH):
        length = int(mask[row].sum())
        energies = [
            torch.dot(v, torch.tanh(w @ query[row] + u @ values[row, j] + b)) for j in range(length)
        ]
        total = sum(energy.exp() for energy in energies)
        alphas = [energy.exp() / total for energy in energies]
        expected = sum(alpha * values[row, j] for j, alpha in enumerate(alphas))
        torch.testing.assert_close(weights[row, :length], torch.stack(alphas))
        torch.testing.assert_close(context[row], expected)


def test_a_fully_masked_query_gives_zeros() -> None:
    attention, query, values, mask = attention_example()
    context, weights = attention(query, attention.keys(values), values, torch.zeros_like(mask))
    assert not weights.any()
    assert not context.any()
