"""Several models write one translation: the mean of their probabilities, in every search."""

import math
from collections.abc import Sequence

import pytest
import torch

from clearhead.decoding import DecodingOptions, ReadableEngine, decode
from clearhead.decoding.readable import ensemble
from clearhead.errors import UserError
from clearhead.models import Transformer, TransformerConfig
from tests.decoding.tiny import make_model, random_sources, talkative, teacher_forced

SMALL = make_model(tie=True)
OTHER = make_model("post", tie=True, seed=2)


def wide() -> Transformer:
    """Another width, another depth, other positions; the same vocabulary."""
    torch.manual_seed(3)
    config = TransformerConfig(
        23, 23, 19, 31, d_model=20, encoder_layers=1, decoder_layers=2, h=5, d_ff=28,
        tie_embeddings=True,
    )  # fmt: skip
    return talkative(Transformer.from_config(config))


MODELS = [SMALL, OTHER, wide()]
SOURCES = random_sources(SMALL, 11)


def together(models: Sequence[Transformer]) -> ReadableEngine:
    return ensemble([ReadableEngine.of(model) for model in models])


def mean_score(models: Sequence[Transformer], source: list[int], written: list[int]) -> float:
    """The sum over the tokens of log (mean of the probabilities), straight from the formula."""
    said = torch.stack([teacher_forced(model, source, written) for model in models]).double()
    steps = said.exp().mean(dim=0).log()
    return float(steps[torch.arange(len(written)), torch.tensor(written)].sum())


@pytest.mark.parametrize("beams", [1, 4])
def test_scores_are_those_of_the_mean_probability(beams: int) -> None:
    found = decode(together(MODELS), SOURCES, DecodingOptions(beam_size=beams))
    for source, (best, *_) in zip(SOURCES, found, strict=True):
        written = [*best.ids, *([SMALL.config.eos_id] if best.finished else [])]
        assert best.score == pytest.approx(mean_score(MODELS, source, written), abs=2e-4)


def test_greed_takes_the_token_that_is_likeliest_in_the_mean() -> None:
    for source, (best, *_) in zip(
        SOURCES, decode(together(MODELS), SOURCES, DecodingOptions(beam_size=1)), strict=True
    ):
        said = torch.stack([teacher_forced(model, source, best.ids) for model in MODELS])
        mean = said.exp().mean(dim=0)
        mean[:, [SMALL.config.pad_id, SMALL.config.bos_id]] = 0
        mean[0, SMALL.config.eos_id] = 0  # no translation is empty
        assert mean.argmax(dim=1).tolist() == best.ids


@pytest.mark.parametrize("beams", [1, 4])
def test_a_model_with_itself_says_what_it_says_alone(beams: int) -> None:
    options = DecodingOptions(beam_size=beams)
    alone, twice = decode(SMALL, SOURCES, options), decode(together([SMALL] * 2), SOURCES, options)
    for (one, *_), (other, *_) in zip(alone, twice, strict=True):
        assert one.ids == other.ids
        assert math.isclose(one.score, other.score, abs_tol=1e-4)


@pytest.mark.parametrize("beams", [1, 4])
@pytest.mark.parametrize("batch_sentences", [1, 2, 5])
def test_the_size_of_batches_changes_nothing(beams: int, batch_sentences: int) -> None:
    options = DecodingOptions(beam_size=beams, batch_sentences=batch_sentences)
    found = decode(together(MODELS), SOURCES, options)
    for source, (best, *_) in zip(SOURCES, found, strict=True):
        assert best.ids == decode(together(MODELS), [source], options)[0][0].ids


def test_the_order_of_the_models_does_not_matter() -> None:
    found, turned = decode(together(MODELS), SOURCES), decode(together(MODELS[::-1]), SOURCES)
    assert [best[0].ids for best in found] == [best[0].ids for best in turned]


def test_it_disagrees_with_each_of_its_models() -> None:
    found = [best[0].ids for best in decode(together(MODELS), SOURCES)]
    for model in MODELS:
        assert found != [best[0].ids for best in decode(model, SOURCES)]


def test_models_of_different_vocabularies_are_refused() -> None:
    with pytest.raises(UserError, match="src_vocab_size=23 and 29"):
        together([SMALL, make_model()])
