"""The threshold of doubt: stored in a model directory, measured on judged translations."""

import math
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from benchmarks.doubt import Judged, Marks, best_threshold, save_threshold
from clearhead.errors import UserError
from clearhead.translation import Translator
from clearhead.translation.loading import DEFAULT_THRESHOLD, load_threshold
from tests.translation.tiny import save


def test_a_directory_without_a_threshold_has_the_default(tmp_path: Path) -> None:
    assert load_threshold(tmp_path) == DEFAULT_THRESHOLD


def test_a_saved_threshold_is_loaded_with_the_model(tmp_path: Path) -> None:
    save_threshold(save(tmp_path), -0.37, "7 sentences")
    assert load_threshold(tmp_path) == -0.37
    assert Translator.from_pretrained(tmp_path).doubt_threshold == -0.37


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"threshold": "low"}', '{"threshold": NaN}'])
def test_a_damaged_file_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "doubt.json").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=r"doubt\.json.*delete the file") as caught:
        load_threshold(tmp_path)
    assert "\n" not in str(caught.value)


def test_the_advice_for_a_damaged_file_works_in_its_order(tmp_path: Path) -> None:
    """Measuring loads the model, which the damaged file prevents."""
    (save(tmp_path) / "doubt.json").write_text("{", encoding="utf-8")
    with pytest.raises(UserError, match=r"delete the file.*python -m benchmarks\.doubt --model "):
        Translator.from_pretrained(tmp_path)
    (tmp_path / "doubt.json").unlink()
    assert Translator.from_pretrained(tmp_path).doubt_threshold == DEFAULT_THRESHOLD


def drawn(seed: int, size: int) -> list[Judged]:
    """Wrong translations have lower scores, with exceptions."""
    random = Random(seed)
    found = []
    for _ in range(size):
        correct = random.random() < 0.7
        score = random.gauss(-0.2 if correct else -0.5, 0.15)
        found.append(Judged(score, not correct and random.random() < 0.2, correct))
    return found


def test_precision_and_recall_are_shares_of_the_marks_and_of_the_wrong() -> None:
    rows = [
        Judged(-0.9, False, False),
        Judged(-0.8, False, True),
        Judged(-0.3, True, False),
        Judged(-0.2, False, False),
        Judged(-0.1, False, True),
    ]
    marks = Marks.at(-0.5, rows)
    assert (marks.marked, marks.hits, marks.wrong) == (3, 2, 3)
    assert marks.precision == pytest.approx(2 / 3)
    assert marks.recall == pytest.approx(2 / 3)
    assert marks.f1 == pytest.approx(2 / 3)


@pytest.mark.parametrize("seed", range(5))
def test_no_threshold_has_a_higher_f1_than_the_best(seed: int) -> None:
    rows = drawn(seed, 57)
    best = Marks.at(best_threshold(rows), rows).f1
    others = [Marks.at(-step / 100, rows).f1 for step in range(150)]
    assert best >= max(others)


def test_the_best_threshold_has_its_f1_with_the_digits_that_are_printed_and_stored() -> None:
    rows = [Judged(-0.2604, False, False), Judged(-0.2004, False, False)]
    rows += [Judged(-0.2001, False, True), Judged(-0.2, False, True), Judged(-0.1, False, True)]
    best = best_threshold(rows)
    assert float(f"{best:.3f}") == best
    printed = [Marks.at(-step / 1000, rows).f1 for step in range(300)]
    assert Marks.at(best, rows).f1 == max(printed)


def test_a_higher_threshold_marks_more() -> None:
    rows = drawn(3, 41)
    marks = [Marks.at(-step / 50, rows) for step in range(60)]
    assert all(b.marked <= a.marked and b.recall <= a.recall for a, b in pairwise(marks))


def test_without_a_wrong_translation_no_score_is_low() -> None:
    assert best_threshold([Judged(-0.4, False, True)]) == -math.inf
