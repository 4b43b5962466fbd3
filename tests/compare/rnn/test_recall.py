"""The planted token: whoever has learnt nothing guesses, whoever can look back finds it."""

from dataclasses import replace

import numpy as np
import pytest

from clearhead.compare.rnn.entrants import NAMES, make
from clearhead.compare.rnn.recall import DONE, FIRST, Task, draw, measure_recall, right_share
from tests.compare.rnn.sizes import TINY

SMALL = replace(TINY, encoder_layers=1, decoder_layers=1, d_model=64, h=4, d_ff=256)
TASK = Task(SMALL, [4], symbols=8, noise=5, rows=32, steps=300, seconds=60.0)


@pytest.mark.parametrize("name", NAMES)
def test_an_untrained_model_guesses(name: str) -> None:
    models = [make(name, TASK.sizes(), seed) for seed in range(8)]
    shares = [right_share(model, TASK, distance=4) for model in models]
    assert np.mean(shares) == pytest.approx(1 / TASK.symbols, abs=0.05)


def test_the_symbol_stands_so_many_places_before_the_end() -> None:
    source, planted = draw(TASK, 4, 6, np.random.default_rng(1))
    assert source.shape == (6, 5)
    assert (source[:, -1 - 4] == planted[:, 0]).all()
    assert (source[:, -1] == TINY.eos_id).all()
    assert ((planted >= FIRST) & (planted < FIRST + TASK.symbols)).all()
    assert (source[:, 1:-1] >= FIRST + TASK.symbols).all(), "noise is never a symbol"


def test_whoever_learnt_it_stopped_there() -> None:
    found = measure_recall(replace(TASK, distances=[2]), lambda line: None)
    for name in NAMES:
        (right,), (sequences,) = found.accuracy[name], found.sequences[name]
        assert right >= DONE or sequences == found.most[0]
    assert found.accuracy["GRU"] >= [DONE], "two steps are not too many for an RNN"
    assert found.sequences["GRU"] < [float(found.most[0])]
