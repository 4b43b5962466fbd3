from pathlib import Path

import pytest

from clearhead.compare import length, limits
from clearhead.compare.engine import Subject
from clearhead.compare.limits import arithmetic_heat, memory_heat
from clearhead.compare.race import Lap
from clearhead.errors import UserError
from tests.compare.sizes import CONFIG, make_task
from tests.translation.tiny import parts


def silent(line: str) -> None: ...


@pytest.mark.parametrize("short", [True, False])
def test_the_step_is_measured_in_the_unit_of_the_peak(
    short: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A format that the processor does not multiply natively has no peak."""
    monkeypatch.setattr(limits, "multiplies_int8", lambda device: short)
    heat = arithmetic_heat(make_task(tmp_path), 32, 1, silent)
    assert "product, float32" in heat.laps and ("product, int8" in heat.laps) == short
    assert heat.laps["product, float32"][0].work == 4 * 2 * 32**3
    step = "training step of clearhead, float32"
    assert [duel.theirs for duel in heat.duels if duel.ours == step] == ["product, float32"]


def test_memory_is_counted_read_and_written(tmp_path: Path) -> None:
    model, tokenizer = parts()
    heat = memory_heat(Subject(tmp_path, model.eval(), tokenizer, tmp_path, 1), 1, 1, silent)
    assert heat.laps["copy"][0].work == 2 * 2**20
    decoding = heat.laps["decoding, clearhead, float32"][0].work
    half = (model.decoder, model.projection_layer)
    weights = sum(4 * p.numel() for part in half for p in part.parameters())
    assert decoding > 0 and decoding % weights == 0


def test_the_cost_of_a_token_comes_out_of_the_lengths() -> None:
    """20 µs at the start, half a µs more at every position: a quarter more for each of length."""
    lengths, rows = [8, 16, 32], 3
    laps = {
        length.name_of(n): [Lap(1e-6 * rows * (20 * n + 0.25 * n**2), rows * n)] for n in lengths
    }
    found = length.cost(laps, lengths)
    assert found.microseconds == pytest.approx([22, 24, 28])
    assert (found.start, found.slope) == pytest.approx((20, 0.25))
    assert length.remark(found) == (
        "a token of a translation of 8 costs 22 µs, of 32 28 µs (+27 %): "
        "+0.250 µs for each token more"
    )


def test_every_translation_has_its_length() -> None:
    heat = length.length_heat(CONFIG, [4, 9], rows=2, rounds=1, say=silent)
    assert [own[0].work for own in heat.laps.values()] == [8, 18]


def test_lengths_rise_to_the_longest() -> None:
    assert length.steps_to(512) == [64, 128, 192, 256, 320, 384, 448, 512]


@pytest.mark.parametrize("kind", length.KINDS)
def test_the_picture_has_the_form_of_its_name(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"cost.{kind}"
    length.plot(length.Cost([1, 2], [3, 4], 2, 1), path)
    start = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}[kind]
    assert path.read_bytes().startswith(start)


def test_a_picture_of_no_form_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"ending in \.svg, \.png, \.pdf"):
        length.picture_kind(tmp_path / "cost.txt")
