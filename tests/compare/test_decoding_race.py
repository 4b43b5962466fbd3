from collections.abc import Iterator
from pathlib import Path

import pytest

from clearhead.compare import clearhead_decoding, ctranslate2, decoding_race, generate
from clearhead.compare.decoding_race import decoding_heat, decoding_heats, muster
from clearhead.compare.engine import Engine, Ids, Search, Subject, groups
from clearhead.compare.race import Lap
from clearhead.compare.results import Duel, distinct
from clearhead.decoding import DecodingOptions, decode
from clearhead.errors import UserError
from tests.decoding.tiny import random_sources
from tests.translation.tiny import TGT_SEQ_LEN, parts, save

SEARCHES = [Search(1, 3, TGT_SEQ_LEN), Search(1, 1, TGT_SEQ_LEN), Search(2, 3, TGT_SEQ_LEN)]


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    model, tokenizer = parts()
    return Subject(save(tmp_path / "model"), model.eval(), tokenizer, tmp_path, threads=1)


def sources(count: int = 7) -> list[Ids]:
    return random_sources(parts()[0], count)


def references(search: Search) -> list[Ids]:
    options = DecodingOptions(
        beam_size=search.beam, max_length=search.limit, early_stopping=search.beam > 1
    )
    return [best[0].ids for best in decode(parts()[0], sources(), options)]


@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_our_engine_translates_as_decode_does(search: Search, subject: Subject) -> None:
    engine = next(clearhead_decoding.engines(subject))
    assert engine.name == "clearhead, float32"
    assert engine.translate(sources(), search) == references(search)


@pytest.mark.parametrize("search", SEARCHES, ids=str)
def test_ctranslate2_translates_the_same(search: Search, subject: Subject) -> None:
    pytest.importorskip("ctranslate2")
    engine = next(ctranslate2.engines(subject))
    assert engine.name == "ctranslate2, float32"
    assert engine.translate(sources(), search) == references(search)


@pytest.mark.parametrize("search", SEARCHES[:2], ids=str)
def test_generate_translates_the_same(search: Search, subject: Subject) -> None:
    pytest.importorskip("transformers")
    engine = next(generate.engines(subject))
    assert engine.name == "transformers generate, float32"
    assert engine.translate(sources(), search) == references(search)


def test_groups_are_of_like_length_and_lose_nobody() -> None:
    lengths = [3, 9, 1, 4, 7]
    found = list(groups([[0] * n for n in lengths], 2))
    assert [[lengths[i] for i in group] for group in found] == [[9, 7], [4, 3], [1]]


class Echo:
    """Says the source again, or only its first half."""

    def __init__(self, name: str, honest: int) -> None:
        self.name, self.honest, self.asked = name, honest, list[int]()

    def translate(self, sources: list[Ids], search: Search) -> list[Ids]:
        self.asked.append(len(sources))
        return [ids if i < self.honest else [] for i, ids in enumerate(sources)]


def test_the_share_of_same_translations_is_noted() -> None:
    engines = [Echo("clearhead, float32", 9), Echo("ctranslate2, int8", 6)]
    heat = decoding_heat(engines, [[1]] * 8, Search(1, 4, 9), 2, lambda line: None)  # type: ignore[arg-type]
    assert heat.notes == {
        "clearhead, float32": "100.0 % the same",
        "ctranslate2, int8": "75.0 % the same",
    }
    assert heat.title == "Decoding, batch 4, greedy, 8 sentences"
    assert all(lap.work == 8 for own in heat.laps.values() for lap in own)


def test_one_row_gets_an_eighth_of_the_sentences_greedily(subject: Subject) -> None:
    engine = Echo("clearhead, float32", 99)
    engines: list[Engine] = [engine]  # type: ignore[list-item]
    heats = decoding_heats(engines, subject, [[4, 2]] * 24, ([6, 1], [1, 4]), 1, lambda line: None)
    assert [heat.title.removeprefix("Decoding, ") for heat in heats] == [
        "batch 6, greedy, 24 sentences",
        "batch 6, beam 4, 24 sentences",
        "batch 1, greedy, 3 sentences",
    ]
    assert engine.asked == [24, 24, 24, 24, 3, 3]


def test_like_meets_like_and_our_best_meets_int8() -> None:
    speed = {
        "clearhead, float32": 2.0,
        "clearhead, bfloat16": 3.0,
        "ctranslate2, float32": 1.0,
        "ctranslate2, float32, 2 batches side by side": 1.1,
        "ctranslate2, int8": 1.2,
        "transformers generate, float32": 0.1,
    }
    laps = {name: [Lap(1.0, rate)] for name, rate in speed.items()}
    assert distinct(decoding_race._duels(laps, Search(4, 64, 99))) == [
        Duel("clearhead, float32", "ctranslate2, float32", 1.3),
        Duel("clearhead, float32", "ctranslate2, float32, 2 batches side by side"),
        Duel("clearhead, bfloat16", "ctranslate2, int8", 1.3),
        Duel("clearhead, bfloat16", "transformers generate, float32", 5.0),
    ]


def test_who_is_not_installed_is_left_out_in_one_line(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoding_race, "is_installed", lambda package: False)
    engines, remarks = muster(subject, [])
    assert all(engine.name.startswith("clearhead") for engine in engines)
    assert len(remarks) == 2 and all('"clearhead[compare]"' in remark for remark in remarks)


def test_who_cannot_take_the_model_is_left_out_with_the_reason(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(subject: Subject) -> Iterator[Engine]:
        raise UserError("no architecture fits")

    starters = {"transformers": decoding_race.Entry(refuse, "torch")}
    monkeypatch.setattr(decoding_race, "STARTERS", starters)
    assert muster(subject, [])[1] == ["transformers left out: no architecture fits"]
