"""Greedy and beam search find what `decode` finds with the readable engine."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhead.decoding import DecodingOptions, NativeEngine, ReadableEngine
from clearhead.errors import UserError
from clearhead.models import Transformer
from clearhead.models.native import native_model
from tests.native.library import KERNELS
from tests.native.models import TRANSLATORS, random_sources, small, translator
from tests.native.ties import are_equal, differ_by_a_tie

Pair = tuple[Transformer, NativeEngine]


def engine(model: Transformer, kernels: str = "") -> NativeEngine:
    return NativeEngine(model.config, native_model(model, kernels=kernels), threads=1)


@st.composite
def decoding_options(draw: st.DrawFn) -> DecodingOptions:
    beam_size = draw(st.integers(1, 6))
    min_length = draw(st.integers(0, 7))
    longer = st.integers(min_length + 1, 40)
    return DecodingOptions(
        beam_size=beam_size,
        n_best=draw(st.integers(1, beam_size)),
        length_penalty=draw(st.sampled_from([-1.5, -0.4, 0.0, 0.6, 1.0, 2.0])),
        no_repeat_ngram=draw(st.integers(0, 4)),
        min_length=min_length,
        max_length=draw(st.none() | longer),
        max_length_factor=draw(st.sampled_from([0.0, 0.5, 2.0])),
        max_length_extra=draw(st.integers(1, 9)),
        early_stopping=draw(st.booleans()),
        scores=draw(st.booleans()),
    )


def assert_equal_or_tied(
    model: Transformer, native: NativeEngine, sources: list[list[int]], options: DecodingOptions
) -> None:
    readable, scored = ReadableEngine.of(model), options.scores or options.beam_size > 1
    found, expected = (engine.decode(sources, options) for engine in (native, readable))
    for source, ours, theirs in zip(sources, found, expected, strict=True):
        if not are_equal(ours, theirs, scored):
            assert differ_by_a_tie(native, readable, source, options), (ours, theirs)


@pytest.fixture(scope="module", params=[(kind, n) for kind in TRANSLATORS for n in (0, 1)])
def pair(request: pytest.FixtureRequest) -> Pair:
    model = translator(*request.param)
    return model, engine(model)


@settings(max_examples=40)
@given(options=decoding_options(), seed=st.integers(0, 999))
def test_hypotheses_are_those_of_the_readable_engine(
    pair: Pair, options: DecodingOptions, seed: int
) -> None:
    model, native = pair
    assert_equal_or_tied(model, native, random_sources(model, 5, seed), options)


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("kind", TRANSLATORS)
def test_every_kernel_finds_the_same_hypotheses(kernels: str, kind: str) -> None:
    model = translator(kind)
    sources = random_sources(model, 11)
    for beam_size in (1, 5):
        options = DecodingOptions(beam_size=beam_size, n_best=beam_size)
        assert_equal_or_tied(model, engine(model, kernels), sources, options)


@pytest.mark.parametrize("kind", TRANSLATORS)
def test_both_engines_end_sentences_with_a_bos_token_that_is_the_eos_token(kind: str) -> None:
    model = translator(kind)
    model.config = replace(model.config, bos_id=model.config.eos_id)
    sources = random_sources(model, 11)
    for beam_size in (1, 5):
        options = DecodingOptions(beam_size=beam_size, n_best=beam_size, min_length=2)
        assert_equal_or_tied(model, engine(model), sources, options)
        found = engine(model).decode(sources, options)
        assert any(best[0].finished for best in found)
        special = {model.config.pad_id, model.config.eos_id}
        assert not special & {token for best in found for h in best for token in h.ids}


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("kind", TRANSLATORS)
def test_translations_of_these_models_differ(kind: str, number: int) -> None:
    """Otherwise the comparisons here would prove little."""
    model = translator(kind, number)
    sources = random_sources(model, 40)
    found = engine(model).decode(sources, DecodingOptions(beam_size=2))
    assert len({tuple(best[0].ids) for best in found}) > 20
    assert len({best[0].finished for best in found}) == 2


def test_other_differences_are_not_ties() -> None:
    """A model with other weights finds other translations, and not because of ties."""
    model, other = translator("pre-norm", 0), translator("pre-norm", 1)
    options, sources = DecodingOptions(beam_size=3), random_sources(model, 6)
    one, two = engine(model), engine(other)
    found, expected = one.decode(sources, options), two.decode(sources, options)
    for source, ours, theirs in zip(sources, found, expected, strict=True):
        assert not are_equal(ours, theirs, scored=True)
        assert not differ_by_a_tie(one, two, source, options)


def test_padding_behind_a_source_changes_nothing_and_elsewhere_it_is_refused() -> None:
    model, options = small(), DecodingOptions(max_length=8, beam_size=2)
    native = NativeEngine(model.config, native_model(model), 1)
    ((ours,),) = native.decode([[3, 4, 5, 2, 0, 0]], options)
    ((theirs,),) = ReadableEngine.of(model).decode([[3, 4, 5, 2, 0, 0]], options)
    assert ours.ids == theirs.ids and ours.score == pytest.approx(theirs.score, abs=1e-4)
    (weights,) = native.cross_attention([[3, 4, 2, 0]], [[5, 6, 2]], 0)
    assert weights.shape == (3, 4) and not weights[:, 3].any()
    for source in ([3, 0, 4, 2], [0, 0]):
        with pytest.raises(UserError, match="padding"):
            native.decode([source], options)


def test_a_model_with_many_positions_translates_a_short_sentence() -> None:
    model = small(src_seq_len=2**17, decoder_layers=24, d_model=16)
    native = NativeEngine(model.config, native_model(model), 1)
    assert native.decode([[3, 4, 2]], DecodingOptions(max_length=5))[0][0].ids
