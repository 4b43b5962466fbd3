from collections.abc import Iterator
from pathlib import Path

import pytest

from clearhead.compare import decoding_benchmark as benchmark
from clearhead.compare.decoding_engines import (
    Engine,
    Search,
    ctranslate2_engines,
    generate_engines,
    own_engines,
)
from clearhead.compare.results import Comparison, distinct
from clearhead.compare.timing import Measurement
from clearhead.compare.workloads import BenchmarkModel, Ids
from clearhead.decoding import DecodingOptions, decode
from clearhead.errors import UserError
from tests.compare.sizes import CONFIG
from tests.decoding.tiny import random_sources
from tests.translation.tiny import TGT_SEQ_LEN, parts, save

SEARCHES = [Search(1, 3, TGT_SEQ_LEN), Search(1, 1, TGT_SEQ_LEN), Search(2, 3, TGT_SEQ_LEN)]


@pytest.fixture
def model(tmp_path: Path) -> BenchmarkModel:
    model, tokenizer = parts()
    directory = save(tmp_path / "model")
    return BenchmarkModel(directory, model.eval(), tokenizer, tmp_path, threads=1)


def silent(line: str) -> None: ...


def sources(count: int = 7) -> list[Ids]:
    return random_sources(parts()[0], count)


def references(search: Search) -> list[Ids]:
    options = DecodingOptions(
        beam_size=search.beam, max_length=search.limit, early_stopping=search.beam > 1
    )
    return [best[0].ids for best in decode(parts()[0], sources(), options)]


@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_our_engine_translates_as_decode_does(search: Search, model: BenchmarkModel) -> None:
    engine = next(own_engines(model))
    assert engine.name == "clearhead, float32"
    assert engine.translate(sources(), search) == references(search)


@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_ctranslate2_translates_as_decode_does(search: Search, model: BenchmarkModel) -> None:
    pytest.importorskip("ctranslate2")
    engine = next(ctranslate2_engines(model))
    assert engine.name == "ctranslate2, float32"
    assert engine.translate(sources(), search) == references(search)


@pytest.mark.parametrize("search", SEARCHES[:2], ids=str)
def test_generate_translates_as_decode_does(search: Search, model: BenchmarkModel) -> None:
    pytest.importorskip("transformers")
    engine = next(generate_engines(model))
    assert engine.name == "transformers generate, float32"
    assert engine.translate(sources(), search) == references(search)


class Echo:
    """Returns the first `correct` sources unchanged, and nothing for the others."""

    def __init__(self, name: str, correct: int) -> None:
        self.name, self.correct, self.calls = name, correct, list[int]()

    def translate(self, sources: list[Ids], search: Search) -> list[Ids]:
        self.calls.append(len(sources))
        return [ids if i < self.correct else [] for i, ids in enumerate(sources)]


def test_the_share_of_identical_translations_is_noted() -> None:
    engines = [Echo("clearhead, float32", 9), Echo("ctranslate2, int8", 6)]
    search = Search(1, 4, 9)
    found = benchmark.decoding_benchmark(engines, [[1]] * 8, search, 2, silent)  # type: ignore[arg-type]
    assert found.notes == {
        "clearhead, float32": "100.0 % the same",
        "ctranslate2, int8": "75.0 % the same",
    }
    assert found.title == "Decoding, batch 4, greedy, 8 sentences"
    assert all(one.work == 8 for own in found.measurements.values() for one in own)


def test_with_one_row_an_eighth_of_the_sentences_is_translated(model: BenchmarkModel) -> None:
    engine = Echo("clearhead, float32", 99)
    engines: list[Engine] = [engine]  # type: ignore[list-item]
    shapes = [6, 1], [1, 4]
    found = benchmark.decoding_benchmarks(engines, model, [[4, 2]] * 24, shapes, 1, silent)
    assert [one.title.removeprefix("Decoding, ") for one in found] == [
        "batch 6, greedy, 24 sentences",
        "batch 6, beam 4, 24 sentences",
        "batch 1, greedy, 3 sentences",
        "batch 1, beam 4, 3 sentences",
    ]
    assert engine.calls == [24, 24, 24, 24, 3, 3, 3, 3]


def test_each_precision_is_compared_with_the_fastest_configuration_of_that_precision() -> None:
    speed = {
        "clearhead, float32": 2.0,
        "clearhead, int8": 3.0,
        "ctranslate2, float32": 1.0,
        "ctranslate2, float32, 2 batches in parallel": 1.1,
        "ctranslate2, int8": 1.2,
        "transformers generate, float32": 0.1,
    }
    found = {name: [Measurement(1.0, rate)] for name, rate in speed.items()}
    assert distinct(benchmark._comparisons(found, Search(4, 64, 99))) == [
        Comparison("clearhead, float32", "ctranslate2, float32, 2 batches in parallel", 1.3),
        Comparison("clearhead, int8", "ctranslate2, int8", 1.5),
        Comparison("clearhead, int8", "transformers generate, float32", 10.0),
    ]


def test_an_engine_that_is_not_installed_is_left_out_with_a_remark(
    model: BenchmarkModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(benchmark.timing, "is_installed", lambda package: False)
    engines, remarks = benchmark.collect_engines(model, [])
    assert all(engine.name.startswith("clearhead") for engine in engines)
    assert len(remarks) == 2 and all('"clearhead[compare]"' in remark for remark in remarks)


def test_an_engine_that_refuses_the_model_is_left_out_with_the_reason(
    model: BenchmarkModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(model: BenchmarkModel) -> Iterator[Engine]:
        raise UserError("no architecture fits")

    monkeypatch.setattr(benchmark, "PEERS", {"torch": refuse})
    assert benchmark.collect_engines(model, [])[1] == ["torch left out: no architecture fits"]


def test_the_cost_of_a_token_is_fitted_to_the_lengths() -> None:
    """20 µs, and 0.5 µs more per position: 0.25 µs more per token of length."""
    lengths, rows = [8, 16, 32], 3
    found = {
        benchmark.label(n): [Measurement(1e-6 * rows * (20 * n + 0.25 * n**2), rows * n)]
        for n in lengths
    }
    cost = benchmark.fit_cost(found, lengths)
    assert cost.microseconds == pytest.approx([22, 24, 28])
    assert (cost.intercept, cost.slope) == pytest.approx((20, 0.25))
    assert benchmark.remark(cost) == (
        "a token of a translation of 8 costs 22 µs, of 32 28 µs (+27 %): "
        "+0.250 µs for each token more"
    )


def test_every_translation_has_the_requested_length() -> None:
    found = benchmark.length_benchmark(CONFIG, [4, 9], rows=2, rounds=1, progress=silent)
    assert [own[0].work for own in found.measurements.values()] == [8, 18]


def test_lengths_are_evenly_spaced_up_to_the_longest() -> None:
    assert benchmark.lengths_to(512) == [64, 128, 192, 256, 320, 384, 448, 512]


def test_the_plot_shows_the_measured_costs_and_the_fitted_line() -> None:
    line, measured = benchmark.plot_cost(benchmark.Cost([1, 2], [3, 4], 2, 1)).figure.axes[0].lines
    assert list(measured.get_ydata()) == [3, 4] and list(line.get_ydata()) == [2, 4]
