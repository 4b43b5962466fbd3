"""Additive attention is its formula, and its weights are shares."""

import torch

from clearhead.compare.rnn.bahdanau import BahdanauAttention

BATCH, SRC_LEN, HIDDEN = 3, 5, 7


def example() -> tuple[BahdanauAttention, torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    attention = BahdanauAttention(HIDDEN).double()
    query = torch.randn(BATCH, HIDDEN, dtype=torch.float64)
    values = torch.randn(BATCH, SRC_LEN, HIDDEN, dtype=torch.float64)
    mask = torch.arange(SRC_LEN) < torch.tensor([[5], [2], [4]])
    return attention, query, values, mask


def test_rows_sum_to_one_and_padding_gets_nothing() -> None:
    attention, query, values, mask = example()
    _, weights = attention(query, attention.keys(values), values, mask)
    torch.testing.assert_close(weights.sum(-1), torch.ones(BATCH, dtype=torch.float64))
    assert (weights[~mask] == 0).all()
    assert (weights[mask] > 0).all()


def test_it_is_the_formula_written_as_a_loop() -> None:
    attention, query, values, mask = example()
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


def test_nothing_to_look_at_gives_zeros() -> None:
    attention, query, values, mask = example()
    context, weights = attention(query, attention.keys(values), values, torch.zeros_like(mask))
    assert not weights.any()
    assert not context.any()
