"""Gradient × input is the derivative with respect to a factor on the embedding."""

import numpy as np
import pytest
import torch

from clearhead.explain.attention import SentencePair, sentence_pair
from clearhead.explain.interpretability import saliency, shares
from clearhead.models import Transformer
from tests.explain import tiny


def log_probabilities(
    model: Transformer, pair: SentencePair, position: int, factor: float
) -> np.ndarray:
    """Of every written token, with one source embedding scaled."""

    def stretch(module: object, inputs: object, output: torch.Tensor) -> torch.Tensor:
        factors = torch.ones(output.shape[1], 1, dtype=output.dtype)
        factors[position] = factor
        return output * factors

    handle = model.src_embed.register_forward_hook(stretch)
    with torch.inference_mode():
        output = model(*pair.tensors(model))[0]
    handle.remove()
    return np.array([output[i, token].item() for i, token in enumerate(pair.written)])


def test_saliency_is_the_derivative_by_a_factor_on_the_embedding() -> None:
    translator = tiny.translator()
    pair = sentence_pair(translator, tiny.SOURCE, tiny.TARGET)
    model, step = translator.model.double(), 1e-5
    found = saliency(model, pair)
    assert found.shape == (len(pair.written), len(pair.source))
    for position in range(len(pair.source)):
        up, down = (log_probabilities(model, pair, position, 1 + s) for s in (step, -step))
        assert found[:, position] == pytest.approx((up - down) / (2 * step), rel=1e-4, abs=1e-7)


def test_saliency_leaves_no_gradient_and_no_hook() -> None:
    translator = tiny.translator()
    saliency(translator.model, sentence_pair(translator, tiny.SOURCE, tiny.TARGET))
    assert all(parameter.grad is None for parameter in translator.model.parameters())
    assert not translator.model.src_embed._forward_hooks


def test_saliency_works_in_training_mode_and_keeps_it() -> None:
    translator = tiny.translator()
    pair = sentence_pair(translator, tiny.SOURCE, tiny.TARGET)
    expected = saliency(translator.model, pair)
    translator.model.train()
    assert saliency(translator.model, pair) == pytest.approx(expected, rel=1e-5, abs=1e-7)
    assert translator.model.training


def test_shares_have_no_sign_and_sum_to_one() -> None:
    portions = shares(np.array([[1.0, -3.0], [0.0, 0.0]], dtype=np.float32))
    assert portions.tolist() == [[0.25, 0.75], [0.0, 0.0]]
