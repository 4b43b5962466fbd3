import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.quality.points import Point, append_point, ratio, read_points, time_to

OURS = [
    Point("clearhead", 10 * n, 100 * n, 60.0 * n, bleu) for n, bleu in enumerate((3, 20, 44), 1)
]
SLOW = [replace(p, side="torch a", seconds=5 * p.seconds) for p in OURS]
SLOWER = [replace(p, side="torch b", seconds=7 * p.seconds) for p in OURS]


def test_a_score_between_two_points_is_reached_between_their_times() -> None:
    assert time_to(OURS, 20) == 120
    assert time_to(OURS, 32) == 150
    assert time_to(OURS, 1) == 60
    assert time_to(OURS, 44.1) == math.inf
    assert time_to([], 1) == math.inf


def test_the_first_time_counts_if_the_score_falls_again() -> None:
    falling = [*OURS, replace(OURS[0], seconds=240.0), replace(OURS[2], seconds=300.0)]
    assert time_to(falling, 32) == 150


@pytest.mark.parametrize("bleu", [3, 20, 32, 44])
def test_the_ratio_is_that_to_the_better_of_the_others(bleu: float) -> None:
    points = {"clearhead": OURS, "torch b": SLOWER, "torch a": SLOW}
    found = ratio(points, "clearhead", bleu)
    assert found.other == "torch a"
    assert found.theirs / found.ours == pytest.approx(5)
    assert found.in_words().endswith("| 5.00 |")


def test_a_score_that_others_did_not_reach_gives_a_bound() -> None:
    found = ratio({"clearhead": OURS, "torch a": SLOW[:2]}, "clearhead", 44)
    assert found.theirs == math.inf
    assert found.in_words() == "| 44 | 3.0 | not reached | torch a | more than 3.33 |"
    missed = ratio({"clearhead": OURS[:2], "torch a": SLOW}, "clearhead", 44)
    assert missed.in_words().endswith("| not reached |")


def test_points_survive_the_file_and_a_line_that_a_kill_cut(tmp_path: Path) -> None:
    path = tmp_path / "points.jsonl"
    assert read_points(path) == []
    for point in OURS[:2]:
        append_point(path, point)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"side": "clearhead"})[:-4])
    append_point(path, OURS[2])
    assert read_points(path) == OURS
