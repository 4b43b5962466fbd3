"""Every schedule is its formula, for every step."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clearhead.training.recipe import Shape, make_schedule

PEAK = 2e-3
steps_of_a_run = st.integers(2, 5000)
warmups = st.integers(1, 2000)
SHAPES: tuple[Shape, ...] = ("paper", "inverse_sqrt", "cosine", "trapezoid", "constant")


def rate(shape: Shape, step: int, warmup: int, steps: int, d_model: int = 512) -> float:
    return make_schedule(shape, PEAK, warmup, steps, d_model)(step)


@given(step=st.integers(1, 10**6), warmup=warmups, d_model=st.integers(1, 2048))
def test_paper_is_equation_3(step: int, warmup: int, d_model: int) -> None:
    equation = d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
    assert rate("paper", step, warmup, 100, d_model) == pytest.approx(PEAK * equation)


@given(shape=st.sampled_from(SHAPES[1:]), warmup=warmups, steps=steps_of_a_run, data=st.data())
def test_the_others_rise_linearly_to_the_peak(
    shape: Shape, warmup: int, steps: int, data: st.DataObject
) -> None:
    assume(warmup <= steps * 0.7)
    step = data.draw(st.integers(1, warmup))
    assert rate(shape, step, warmup, steps) == pytest.approx(PEAK * step / warmup)


@given(warmup=warmups, steps=steps_of_a_run, data=st.data())
def test_the_ways_down(warmup: int, steps: int, data: st.DataObject) -> None:
    assume(warmup < steps)
    step = data.draw(st.integers(warmup, steps))
    way = (step - warmup) / (steps - warmup)
    assert rate("inverse_sqrt", step, warmup, steps) == pytest.approx(
        PEAK * math.sqrt(warmup / step)
    )
    assert rate("cosine", step, warmup, steps) == pytest.approx(
        PEAK * (1 + math.cos(math.pi * way)) / 2, abs=1e-12
    )
    assert rate("constant", step, warmup, steps) == PEAK


@given(warmup=warmups, steps=steps_of_a_run, data=st.data())
def test_the_last_30_percent_of_a_trapezoid_fall_to_zero(
    warmup: int, steps: int, data: st.DataObject
) -> None:
    assume(warmup <= steps * 0.7)
    step = data.draw(st.integers(warmup, steps))
    left = steps - step + 1
    expected = PEAK * min(1.0, left / (0.3 * steps))
    assert rate("trapezoid", step, warmup, steps) == pytest.approx(expected)
    assert rate("trapezoid", steps, warmup, steps) == pytest.approx(PEAK * min(1, 1 / 0.3 / steps))


@given(
    shape=st.sampled_from(SHAPES),
    step=st.integers(1, 10**6),
    warmup=st.integers(0, 10**4),
    steps=st.integers(1, 10**5),
)
def test_always_finite_and_between_zero_and_the_peak(
    shape: Shape, step: int, warmup: int, steps: int
) -> None:
    assert 0 <= rate(shape, step, warmup, steps) <= PEAK


@pytest.mark.parametrize("shape", SHAPES)
def test_without_warm_up_the_first_step_has_the_peak(shape: Shape) -> None:
    assert rate(shape, 1, 0, 1000, d_model=1) == pytest.approx(PEAK)
