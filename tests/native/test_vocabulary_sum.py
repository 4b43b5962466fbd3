"""Sums over the vocabulary from 16-bit products: scores and best tokens are those of float32."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from clearhead.decoding import DecodingOptions, NativeEngine
from clearhead.models import Transformer, TransformerConfig
from clearhead.models.native import native_model
from clearhead.native.session import forced_scores
from tests.native.library import KERNELS
from tests.native.models import with_float16_weights

VOCABULARY = 1_901
SOURCES = [[5, 9, 4, 2], [7, 7, 3, 8, 12, 2], [2], [11, 3, 2]]
OPTIONS = DecodingOptions(beam_size=3, n_best=3, max_length=7)


def untied(spread: float) -> Transformer:
    """A projection of its own whose logits have about this standard deviation."""
    torch.manual_seed(5)
    sizes = {"d_model": 40, "encoder_layers": 1, "decoder_layers": 1, "h": 4, "d_ff": 50}
    lengths = {"src_seq_len": 20, "tgt_seq_len": 20}
    config = TransformerConfig(30, VOCABULARY, dropout=0.0, **sizes, **lengths)
    model = Transformer.from_config(config).eval()
    with torch.no_grad():
        model.projection_layer.proj.weight.normal_(std=spread / 40**0.5)
        model.projection_layer.proj.bias.normal_(std=spread / 4)
    return model


def engine(model: Transformer, precision: str, kernels: str) -> NativeEngine:
    packed = with_float16_weights if precision == "float16" else native_model
    return NativeEngine(model.config, packed(model, kernels=kernels), threads=1)


def with_equal_tokens(model: Transformer) -> None:
    """Rounding cannot tell 60 tokens apart, more than are ever kept as candidates."""
    projection = model.projection_layer.proj
    with torch.no_grad():
        projection.weight[500:560] = projection.weight[500] * 3
        projection.bias[500:560] = projection.bias[500] + torch.arange(60) * 1e-5


def with_one_large_weight(model: Transformer) -> None:
    """16-bit integers are then scaled by the largest weight, not by the length of the row."""
    with torch.no_grad():
        model.projection_layer.proj.weight[:, 7] *= 50


def with_one_large_feature(model: Transformer) -> None:
    with torch.no_grad():
        model.decoder.norm.alpha[3] = 40.0  # type: ignore[index]


CHANGES: dict[str, Callable[[Transformer], None]] = {
    "none": lambda _: None,
    "equal tokens": with_equal_tokens,
    "one large weight": with_one_large_weight,
    "one large feature": with_one_large_feature,
}


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("precision", ["float32", "float16"])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("spread", [0.05, 1.0, 4.0])  # nearly uniform to peaked
def test_scores_are_sums_of_the_log_probabilities_in_float32(
    spread: float, change: str, precision: str, kernels: str
) -> None:
    model = untied(spread)
    CHANGES[change](model)
    native = engine(model, precision, kernels)
    for source, found in zip(SOURCES, native.decode(SOURCES, OPTIONS), strict=True):
        assert len(found) == 3
        for hypothesis in found:
            labels = hypothesis.ids + [model.config.eos_id] * hypothesis.finished
            read = [model.config.bos_id, *labels[:-1]]
            exact = forced_scores(native.model, source, read, labels)
            near = (1e-4 if change == "one large weight" else 3e-5) * len(labels)
            assert hypothesis.score == pytest.approx(float(exact.sum()), abs=near)


@pytest.mark.parametrize("precision", ["float32", "float16"])
@pytest.mark.parametrize("change", CHANGES)
def test_every_kernel_finds_the_same_tokens(change: str, precision: str) -> None:
    model = untied(1.0)
    CHANGES[change](model)
    every = [engine(model, precision, kernels).decode(SOURCES, OPTIONS) for kernels in KERNELS]
    tokens = [[[h.ids for h in hypotheses] for hypotheses in found] for found in every]
    assert all(found == tokens[0] for found in tokens)
    assert len({tuple(found[0]) for found in tokens[0]}) > 1


@pytest.mark.parametrize("kernels", KERNELS)
def test_the_best_tokens_of_one_step_are_those_of_the_exact_logits(kernels: str) -> None:
    model = untied(1.0)
    with_equal_tokens(model)
    options = DecodingOptions(beam_size=20, n_best=20, min_length=0, max_length=1)
    (found,) = engine(model, "float32", kernels).decode([[4, 3, 2]], options)
    logits = torch.log_softmax(model(torch.tensor([[4, 3, 2]]), torch.tensor([[1]])), -1)[0, 0]
    logits = logits.detach().numpy()
    logits[[model.config.pad_id, model.config.bos_id]] = -np.inf
    best = sorted(logits, reverse=True)[: len(found)]
    np.testing.assert_allclose([h.score for h in found], best, atol=1e-5)
