"""The picture of vanishing gradients shows what autograd says of a single output."""

import pytest
import torch

from clearhead.blocks import padding_mask
from clearhead.compare.rnn.entrants import NAMES, make
from clearhead.compare.rnn.gradients import gradient_by_distance, source_gradient
from tests.compare.rnn.sizes import TINY


@pytest.mark.parametrize("name", NAMES)
def test_the_gradient_of_one_output_is_the_slope_that_a_nudge_of_a_word_shows(name: str) -> None:
    model = make(name, TINY, seed=4).double().eval()
    src = torch.tensor([[5, 9, 30, 11, 7]])
    direction = torch.zeros(1, TINY.d_model, dtype=torch.float64)
    direction[0, 6] = 1.0  # output number 6 alone
    found = source_gradient(model, src, direction)[0]

    def output(nudge: torch.Tensor) -> float:
        handle = model.src_embed.register_forward_hook(lambda module, ids, out: out + nudge)
        mask = padding_mask(src, 0)
        with torch.no_grad():
            y = model.decode(model.encode(src, mask), mask, torch.tensor([[TINY.bos_id]]))  # type: ignore[arg-type]
        handle.remove()
        return float(y[0, 0, 6])

    for place, feature in ((0, 3), (2, 17), (4, 47)):
        nudge = torch.zeros(1, 5, TINY.d_model, dtype=torch.float64)
        nudge[0, place, feature] = 1e-5
        slope = (output(nudge) - output(-nudge)) / 2e-5
        assert slope == pytest.approx(float(found[place, feature]), rel=1e-4, abs=1e-10)


def test_random_directions_add_up_to_the_norm_of_the_whole_jacobian() -> None:
    src = torch.randint(3, 41, (1, 6), generator=torch.Generator().manual_seed(1))
    model = make("GRU", TINY, seed=4).double().eval()
    every = torch.eye(TINY.d_model, dtype=torch.float64)
    rows = source_gradient(model, src.expand(TINY.d_model, -1), every)  # (outputs, src_len, d)
    jacobian = rows.square().sum((0, 2)).sqrt()
    directions = torch.randn(4000, TINY.d_model, generator=torch.Generator().manual_seed(2))
    directions = (directions / directions.norm(dim=-1, keepdim=True)).double()
    sample = source_gradient(model, src.expand(4000, -1), directions)
    estimate = (sample.square().sum(-1).mean(0) * TINY.d_model).sqrt()
    torch.testing.assert_close(estimate, jacobian, rtol=0.05, atol=0)


def test_the_last_word_comes_first_and_an_rnn_forgets_the_others() -> None:
    norms = {name: gradient_by_distance(make(name, TINY, seed=4), 60, 4, seed=1) for name in NAMES}
    assert {len(own) for own in norms.values()} == {60}
    assert norms["GRU"][-1] < 1e-3 * norms["GRU"][0]
    assert norms["Transformer"][-1] > 0.1 * norms["Transformer"][0]
    assert norms["GRU + attention"][-1] > 100 * norms["GRU"][-1]
