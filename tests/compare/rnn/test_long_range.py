"""Gradients are those of autograd; recall starts at chance and is learned."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from clearhead.blocks import padding_mask
from clearhead.compare.rnn.findings import SOLVED
from clearhead.compare.rnn.long_range import (
    FIRST,
    RecallTask,
    gradient_by_distance,
    measure_recall,
    random_sequences,
    recall_accuracy,
    source_gradient,
)
from clearhead.compare.rnn.translator import NAMES, make_model
from tests.compare.rnn.sizes import TINY

SMALL = replace(TINY, encoder_layers=1, decoder_layers=1, d_model=64, h=4, d_ff=256)
TASK = RecallTask(SMALL, [4], symbols=8, noise=5, rows=32, steps=300, seconds=60.0)


@pytest.mark.parametrize("name", NAMES)
def test_the_gradient_of_one_output_equals_the_finite_difference(name: str) -> None:
    model = make_model(name, TINY, seed=4).double().eval()
    src = torch.tensor([[5, 9, 30, 11, 7]])
    direction = torch.zeros(1, TINY.d_model, dtype=torch.float64)
    direction[0, 6] = 1.0  # output 6 alone
    found = source_gradient(model, src, direction)[0]

    def output(change: torch.Tensor) -> float:
        handle = model.src_embed.register_forward_hook(lambda module, ids, out: out + change)
        mask = padding_mask(src, 0)
        with torch.no_grad():
            y = model.decode(model.encode(src, mask), mask, torch.tensor([[TINY.bos_id]]))  # type: ignore[arg-type]
        handle.remove()
        return float(y[0, 0, 6])

    for position, feature in ((0, 3), (2, 17), (4, 47)):
        change = torch.zeros(1, 5, TINY.d_model, dtype=torch.float64)
        change[0, position, feature] = 1e-5
        slope = (output(change) - output(-change)) / 2e-5
        assert slope == pytest.approx(float(found[position, feature]), rel=1e-4, abs=1e-10)


def test_random_directions_estimate_the_norm_of_the_jacobian() -> None:
    src = torch.randint(3, 41, (1, 6), generator=torch.Generator().manual_seed(1))
    model = make_model("GRU", TINY, seed=4).double().eval()
    every = torch.eye(TINY.d_model, dtype=torch.float64)
    rows = source_gradient(model, src.expand(TINY.d_model, -1), every)  # (outputs, src_len, d)
    jacobian = rows.square().sum((0, 2)).sqrt()
    directions = torch.randn(4000, TINY.d_model, generator=torch.Generator().manual_seed(2))
    directions = (directions / directions.norm(dim=-1, keepdim=True)).double()
    sample = source_gradient(model, src.expand(4000, -1), directions)
    estimate = (sample.square().sum(-1).mean(0) * TINY.d_model).sqrt()
    torch.testing.assert_close(estimate, jacobian, rtol=0.05, atol=0)


def test_gradients_vanish_in_an_rnn_without_attention_only() -> None:
    norms = {
        name: gradient_by_distance(make_model(name, TINY, seed=4), 60, 4, seed=1) for name in NAMES
    }
    assert {len(own) for own in norms.values()} == {60}
    assert norms["GRU"][-1] < 1e-3 * norms["GRU"][0]
    assert norms["Transformer"][-1] > 0.1 * norms["Transformer"][0]
    assert norms["GRU + attention"][-1] > 100 * norms["GRU"][-1]


@pytest.mark.parametrize("name", NAMES)
def test_an_untrained_model_has_chance_accuracy(name: str) -> None:
    models = [make_model(name, TASK.model_config(), seed) for seed in range(8)]
    accuracies = [recall_accuracy(model, TASK, distance=4) for model in models]
    assert np.mean(accuracies) == pytest.approx(1 / TASK.symbols, abs=0.05)


def test_the_symbol_is_at_the_given_distance_from_the_end() -> None:
    source, symbols = random_sequences(TASK, 4, 6, np.random.default_rng(1))
    assert source.shape == (6, 5)
    assert (source[:, -1 - 4] == symbols[:, 0]).all()
    assert (source[:, -1] == TINY.eos_id).all()
    assert ((symbols >= FIRST) & (symbols < FIRST + TASK.symbols)).all()
    assert (source[:, 1:-1] >= FIRST + TASK.symbols).all(), "noise is never a symbol"


def test_training_ends_when_the_task_is_solved() -> None:
    found = measure_recall(replace(TASK, distances=[2]), lambda line: None)
    for name in NAMES:
        (accuracy,), (sequences,) = found.accuracy[name], found.sequences[name]
        assert accuracy >= SOLVED or sequences == found.limits[0]
    assert found.accuracy["GRU"] >= [SOLVED], "an RNN can bridge two steps"
    assert found.sequences["GRU"] < [float(found.limits[0])]
