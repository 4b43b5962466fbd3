"""Gradient times input is what a small change of length does."""

import numpy as np
import pytest
import torch

from clearhead.explain.look import Sentence, sentence
from clearhead.explain.saliency import saliency, shares
from clearhead.models import Transformer
from tests.explain import tiny


def log_probabilities(model: Transformer, known: Sentence, place: int, factor: float) -> np.ndarray:
    """Of every written token, with one source embedding made longer or shorter."""

    def stretch(module: object, inputs: object, output: torch.Tensor) -> torch.Tensor:
        factors = torch.ones(output.shape[1], 1, dtype=output.dtype)
        factors[place] = factor
        return output * factors

    handle = model.src_embed.register_forward_hook(stretch)
    with torch.inference_mode():
        said = model(*known.tensors(model))[0]
    handle.remove()
    return np.array([said[i, token].item() for i, token in enumerate(known.written)])


def test_it_is_the_derivative_by_a_factor_on_the_embedding() -> None:
    translator = tiny.translator()
    known = sentence(translator, tiny.SOURCE, tiny.TARGET)
    model, step = translator.model.double(), 1e-5
    found = saliency(model, known)
    assert found.shape == (len(known.written), len(known.source))
    for place in range(len(known.source)):
        up, down = (log_probabilities(model, known, place, 1 + s) for s in (step, -step))
        assert found[:, place] == pytest.approx((up - down) / (2 * step), rel=1e-4, abs=1e-7)


def test_it_leaves_no_gradient_and_no_hook_behind() -> None:
    translator = tiny.translator()
    saliency(translator.model, sentence(translator, tiny.SOURCE, tiny.TARGET))
    assert all(parameter.grad is None for parameter in translator.model.parameters())
    assert not translator.model.src_embed._forward_hooks


def test_it_works_in_training_and_leaves_the_model_there() -> None:
    translator = tiny.translator()
    known = sentence(translator, tiny.SOURCE, tiny.TARGET)
    expected = saliency(translator.model, known)
    translator.model.train()
    assert saliency(translator.model, known) == pytest.approx(expected, rel=1e-5, abs=1e-7)
    assert translator.model.training


def test_shares_have_no_sign_and_sum_to_one() -> None:
    portions = shares(np.array([[1.0, -3.0], [0.0, 0.0]], dtype=np.float32))
    assert portions.tolist() == [[0.25, 0.75], [0.0, 0.0]]
