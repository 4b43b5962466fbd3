"""Options of a search are checked, and what an engine promises holds for each engine."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from clearhead.decoding import (
    DecodingOptions,
    Engine,
    Hypothesis,
    NativeEngine,
    ReadableEngine,
    decode,
)
from clearhead.decoding.precision import in_precision, readable_precision
from clearhead.errors import UserError
from clearhead.models import Transformer
from clearhead.models.native import native_model
from tests.decoding.tiny import make_model, random_sources


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"beam_size": 0}, "beam_size=0"),
        ({"beam_size": 2.5}, "beam_size=2.5"),
        ({"n_best": 5}, "n_best=5 is more than beam_size=4"),
        ({"no_repeat_ngram": -1}, "no_repeat_ngram=-1"),
        ({"min_length": -1}, "min_length=-1"),
        ({"max_length": 1}, "max_length=1 leaves no room for min_length=1"),
        ({"max_length_factor": -1.0}, "max_length_factor=-1.0"),
        ({"length_penalty": float("nan")}, "length_penalty=nan"),
        ({"batch_tokens": 0}, "batch_tokens=0"),
        ({"max_length": 5.0}, "max_length=5.0 is not a whole number"),
        ({"max_length": "9"}, "max_length='9' is not a whole number"),
        ({"early_stopping": "never"}, "early_stopping='never'; give True or False"),
    ],
)
def test_a_number_outside_its_range_is_named(wrong: dict[str, int], message: str) -> None:
    with pytest.raises(UserError, match=message):
        DecodingOptions(**wrong)


@given(st.integers(1, 600), st.integers(0, 50), st.integers(1, 512))
def test_the_limit_leaves_room_for_the_least_and_never_exceeds_the_positions(
    src_len: int, least: int, positions: int
) -> None:
    limit = DecodingOptions(min_length=least).limit(src_len, positions)
    assert 1 <= limit <= positions
    assert limit > least or limit == positions


MODEL = make_model()
ENGINES: list[Engine] = [
    ReadableEngine.of(MODEL), NativeEngine(MODEL.config, native_model(MODEL), threads=1)
]  # fmt: skip
every_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda e: type(e).__name__)
CPU = torch.device("cpu")
OPTIONS = [DecodingOptions(beam_size=1), DecodingOptions(beam_size=3, n_best=2)]
BF16 = "clearhead.fast.processor.cpu_multiplies_bfloat16"


def assert_same(found: Sequence[list[Hypothesis]], expected: Sequence[list[Hypothesis]]) -> None:
    for some, others in zip(found, expected, strict=True):
        assert [(h.ids, h.finished) for h in some] == [(h.ids, h.finished) for h in others]
        for one, other in zip(some, others, strict=True):
            assert one.score == pytest.approx(other.score, abs=1e-4, rel=1e-5)


def processor(monkeypatch: pytest.MonkeyPatch, bfloat16: bool) -> None:
    """One that multiplies bfloat16 faster than float32, or not."""
    monkeypatch.setattr(BF16, lambda: bfloat16)


@pytest.mark.parametrize("options", OPTIONS)
def test_decode_of_a_model_is_decode_of_its_readable_engine(options: DecodingOptions) -> None:
    sources = random_sources(MODEL, 7)
    engine: Engine = ReadableEngine.of(MODEL)
    assert engine.config is MODEL.config
    assert engine.decode(sources, options) == decode(engine, sources, options)
    assert_same(engine.decode(sources, options), decode(MODEL, sources, options))


SOURCES = [[5, 6, 2], [7, 4, 2]]


@every_engine
@pytest.mark.parametrize(
    "sources",
    [
        tuple(map(tuple, SOURCES)),
        np.array(SOURCES),
        [np.array(source, np.int32) for source in SOURCES],
        torch.tensor(SOURCES),
        [torch.tensor(source) for source in SOURCES],
        [[torch.tensor(token) for token in source] for source in SOURCES],
    ],
    ids=["tuples", "array", "arrays", "tensor", "tensors", "lists of tensors"],
)
def test_sources_are_lists_arrays_or_tensors(engine: Engine, sources: Any) -> None:
    assert engine.decode(sources) == engine.decode(SOURCES)
    assert engine.decode(sources[:0]) == []


@every_engine
@pytest.mark.parametrize(
    "sources",
    [[5, 6, 2], 5, None, [[5.0, 2]], [[5.7, 2]], ["ab"], [None], [["5"]], np.array([5, 6, 2]),
     torch.tensor([5, 6, 2]), torch.tensor([[5.7, 2]]), [[[5, 2]]]],
    ids=repr,
)  # fmt: skip
def test_what_is_no_list_of_ids_is_refused_in_one_line(engine: Engine, sources: Any) -> None:
    with pytest.raises(UserError, match=r"these are not lists of ids \(.*\); give \[\[5") as caught:
        engine.decode(sources)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("sentences", [1, 3, 7])
def test_the_number_of_sentences_in_a_batch_changes_nothing(
    options: DecodingOptions, sentences: int
) -> None:
    sources = random_sources(MODEL, 25)
    found = decode(MODEL, sources, replace(options, batch_sentences=sentences))
    assert_same(found, decode(MODEL, sources, options))


def test_an_engine_uses_the_weights_that_its_model_has_now() -> None:
    model = make_model()
    sources, engine = random_sources(model, 5), ReadableEngine.of(model)
    before = engine.decode(sources)
    with torch.no_grad():
        model.projection_layer.proj.bias[5] += 30.0
    assert engine.decode(sources) != before
    assert_same(engine.decode(sources), decode(model, sources))


def test_threads_may_decode_with_one_model() -> None:
    sources = random_sources(MODEL, 8)
    alone = [decode(MODEL, [source])[0] for source in sources]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda source: decode(MODEL, [source])[0], sources))
    assert_same(together, alone)


@pytest.mark.parametrize("options", OPTIONS)
def test_bfloat16_gives_nearly_the_same_scores_and_leaves_the_model_in_float32(
    options: DecodingOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    processor(monkeypatch, bfloat16=True)
    sources = random_sources(MODEL, 12)
    short = ReadableEngine.of(MODEL, "bfloat16").decode(sources, options)
    full = decode(MODEL, sources, options)
    same = [(one, other) for some, others in zip(short, full, strict=True)
            for one, other in zip(some, others, strict=True) if one.ids == other.ids]  # fmt: skip
    assert len(same) > 3
    for one, other in same:
        assert one.score == pytest.approx(other.score, abs=0.5, rel=0.05)
    assert all(parameter.dtype == torch.float32 for parameter in MODEL.parameters())


@pytest.mark.parametrize(
    ("precision", "message"),
    [
        ("int4", "precision 'int4' is unknown; give float32, bfloat16, int8 or auto"),
        ("int8", "does not compute in int8; give precision float32, or use the native engine"),
        ("bfloat16", "bfloat16 is not faster than float32.*give precision float32"),
    ],
)
def test_a_precision_that_is_not_available_is_refused_with_the_alternative(
    precision: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    processor(monkeypatch, bfloat16=False)
    with pytest.raises(UserError, match=message):
        ReadableEngine.of(MODEL, precision)  # type: ignore[arg-type]


@pytest.mark.parametrize("native", [True, False])
def test_auto_is_a_precision_that_is_available(
    native: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    processor(monkeypatch, native)
    precision = readable_precision("auto", CPU)
    assert precision == ("bfloat16" if native else "float32")
    assert next(in_precision(MODEL, precision).parameters()).dtype == getattr(torch, precision)


def test_options_may_be_numbers_of_numpy() -> None:
    model = make_model().eval()
    given = DecodingOptions(np.int64(3), np.float32(0.5), max_length=np.int32(9))
    plain = DecodingOptions(3, 0.5, max_length=9)
    assert given == plain and type(given.beam_size) is int
    ids = random_sources(model, 2)
    for engine in (model, NativeEngine(model.config, native_model(model), 1)):
        assert decode(engine, ids, given) == decode(engine, ids, plain)


def test_a_transformer_assembled_by_hand_translates_once_it_has_a_config() -> None:
    built = make_model()
    by_hand = Transformer(*built.children())
    sources = random_sources(built, 3)
    with pytest.raises(
        UserError, match=r"assembled by hand and has no config; .* set model\.config"
    ):
        decode(by_hand, sources)
    by_hand.config = built.config
    assert decode(by_hand, sources) == decode(built, sources)
