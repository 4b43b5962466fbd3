"""Several searches at once find what one finds; errors come out, and the cores are given back."""

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch

from clearhead.decoding import DecodingOptions, Engine, decode
from clearhead.decoding import search as module
from clearhead.decoding.side_by_side import cores_for, searches_at_once, side_by_side
from clearhead.errors import UserError
from tests.decoding.tiny import make_model, random_sources

MODEL = make_model()
GREEDY = DecodingOptions(beam_size=1, batch_sentences=7)
BEAMS = DecodingOptions(beam_size=3, n_best=2, batch_sentences=5)


@pytest.fixture(autouse=True)
def three_cores() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    assert torch.get_num_threads() == 3  # whoever took cores has given them back
    torch.set_num_threads(before)


@pytest.mark.parametrize("options", [GREEDY, BEAMS], ids=["greedy", "beams"])
def test_three_searches_find_what_one_finds(
    options: DecodingOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = random_sources(MODEL, 61)
    assert searches_at_once(Engine.of(MODEL), len(sources), options.beam_size) == 3
    together = decode(MODEL, sources, options)
    monkeypatch.setattr(module, "searches_at_once", lambda *_: 1)
    alone = decode(MODEL, sources, options)
    for some, others in zip(together, alone, strict=True):
        assert [h.ids for h in some] == [h.ids for h in others]
        assert [h.score for h in some] == pytest.approx([h.score for h in others], abs=1e-4)


def test_readable_blocks_are_searched_one_by_one() -> None:
    assert searches_at_once(Engine.readable(MODEL), 100, 4) == 1


def test_few_rows_are_computed_on_one_core() -> None:
    seen = []
    engine = Engine.of(MODEL)

    def encode(ids: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        seen.append(torch.get_num_threads())
        return engine.encode(ids, mask)

    decode(replace(engine, encode=encode), random_sources(MODEL, 2), GREEDY)
    assert set(seen) == {1}
    # 12 · 20 multiplications a row: a sixth of a million rows' worth is shared
    assert (cores_for(engine, 4000), cores_for(engine, 5000)) == (1, 3)


def test_the_first_error_comes_out_and_the_others_are_stopped() -> None:
    stopped = threading.Event()

    def patient() -> int:
        assert stopped.wait(timeout=60)
        return 1

    def failing() -> int:
        raise UserError("the weights are damaged")

    with pytest.raises(UserError, match="damaged"):
        side_by_side([patient, failing, patient], stopped.set)


def test_an_interrupt_stops_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C reaches the thread that waits, not those that search."""
    searches: list[module.Search] = []
    original = module.Search.run

    def run(search: module.Search) -> list[list[module.Hypothesis]]:
        searches.append(search)
        return original(search)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module.Search, "run", run)
    monkeypatch.setattr("clearhead.decoding.side_by_side.wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        decode(MODEL, random_sources(MODEL, 61), GREEDY)
    assert all(search.arrivals.stopped for search in searches)


def test_tasks_share_the_cores_and_keep_their_order() -> None:
    torch.set_num_threads(6)
    tasks = [lambda i=i: (i, torch.get_num_threads()) for i in range(3)]
    assert side_by_side(tasks, lambda: None) == [(0, 2), (1, 2), (2, 2)]
    assert torch.get_num_threads() == 6
    torch.set_num_threads(3)
