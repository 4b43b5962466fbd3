from functools import partial

import pytest

from clearhead.compare.race import Contestant, Lap, fastest, race, ratio, spread


def runner(name: str, log: list[str], work: float = 1.0) -> Contestant:
    def run() -> float:
        log.append(name)
        return work

    return Contestant(name, run)


def run_race(rounds: int, warmup: int) -> tuple[list[str], dict[str, list[Lap]]]:
    log: list[str] = []
    laps = race([runner(n, log, ord(n)) for n in "abc"], rounds, warmup)
    return log, laps


def test_every_round_runs_each_contestant_once_forwards_and_backwards_in_turn() -> None:
    log, _ = run_race(rounds=3, warmup=1)
    rounds = ["".join(log[i : i + 3]) for i in range(0, len(log), 3)]
    assert rounds == ["cba", "abc", "cba", "abc"]


@pytest.mark.parametrize("warmup", [0, 1, 2])
def test_warm_up_is_run_and_forgotten(warmup: int) -> None:
    log, laps = run_race(rounds=5, warmup=warmup)
    assert len(log) == 3 * (5 + warmup)
    assert {name: len(own) for name, own in laps.items()} == {"a": 5, "b": 5, "c": 5}


def test_a_lap_holds_the_work_that_its_runner_counted() -> None:
    _, laps = run_race(rounds=2, warmup=0)
    assert [lap.work for lap in laps["b"]] == [ord("b")] * 2
    assert all(lap.seconds > 0 for own in laps.values() for lap in own)


def test_a_run_up_is_run_before_every_lap_and_not_timed() -> None:
    log: list[str] = []
    settle = partial(log.append, "|")
    laps = race([runner(n, log, 1) for n in "ab"], 2, warmup=1, settle=settle, run_up=2)
    assert "".join(log) == "|b||a|" + "aa|a|bb|b|" + "bb|b|aa|a|"
    assert [len(own) for own in laps.values()] == [2, 2]


def test_the_clock_starts_and_stops_when_everything_has_settled() -> None:
    log: list[str] = []
    race([runner("a", log)], rounds=1, warmup=0, settle=partial(log.append, "settle"))
    assert log == ["settle", "a", "settle"]


def test_progress_is_told_round_by_round() -> None:
    said: list[str] = []
    race([runner("a", [])], rounds=2, warmup=1, say=said.append)
    assert said == ["warming up", "round 1 of 2", "round 2 of 2"]


def test_the_ratio_is_taken_within_each_round() -> None:
    """The machine was three times as slow in the last round, for both."""
    ours = [Lap(1, 10), Lap(2, 10), Lap(3, 10)]
    theirs = [Lap(2, 10), Lap(3, 10), Lap(9, 10)]
    assert ratio(ours, theirs) == (2.0, 1.5, 3.0)
    assert ratio(theirs, ours).median == 1 / 2.0


def test_who_did_more_in_the_same_time_was_faster() -> None:
    assert ratio([Lap(4, 40)], [Lap(4, 10)]).median == 4


def test_rounds_without_a_partner_are_no_ratio() -> None:
    with pytest.raises(ValueError):
        ratio([Lap(1, 1)], [])


def test_the_fastest_of_a_team_is_the_fastest_in_the_median() -> None:
    laps = {
        "us, slow": [Lap(2, 1)] * 3,
        "us, fast": [Lap(1, 1), Lap(1, 1), Lap(99, 1)],
        "them": [Lap(0.1, 1)] * 3,
    }
    assert fastest(laps, "us") == "us, fast"
    assert fastest(laps, "nobody") is None


def test_the_spread_is_median_and_range() -> None:
    assert spread([5, 1, 3]) == (3, 1, 5)
