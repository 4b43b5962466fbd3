from functools import partial

import pytest

from clearhead.compare.timing import (
    Candidate,
    Measurement,
    Measurements,
    fastest,
    measure,
    ratio,
    summarize,
)


def candidate(name: str, log: list[str], work: float = 1.0) -> Candidate:
    def run() -> float:
        log.append(name)
        return work

    return Candidate(name, run)


def run_three(rounds: int, warmup: int) -> tuple[list[str], Measurements]:
    log: list[str] = []
    found = measure([candidate(name, log, ord(name)) for name in "abc"], rounds, warmup)
    return log, found


def test_every_round_runs_each_candidate_once_in_alternating_order() -> None:
    log, _ = run_three(rounds=3, warmup=1)
    rounds = ["".join(log[i : i + 3]) for i in range(0, len(log), 3)]
    assert rounds == ["cba", "abc", "cba", "abc"]


@pytest.mark.parametrize("warmup", [0, 1, 2])
def test_warm_up_rounds_are_run_and_not_counted(warmup: int) -> None:
    log, found = run_three(rounds=5, warmup=warmup)
    assert len(log) == 3 * (5 + warmup)
    assert {name: len(own) for name, own in found.items()} == {"a": 5, "b": 5, "c": 5}


def test_a_measurement_holds_the_work_that_its_candidate_reported() -> None:
    _, found = run_three(rounds=2, warmup=0)
    assert [one.work for one in found["b"]] == [ord("b")] * 2
    assert all(one.seconds > 0 for own in found.values() for one in own)


def test_untimed_runs_precede_every_measurement() -> None:
    log: list[str] = []
    synchronize = partial(log.append, "|")
    both = [candidate(name, log, 1) for name in "ab"]
    found = measure(both, 2, warmup=1, synchronize=synchronize, untimed_runs=2)
    assert "".join(log) == "|b||a|" + "aa|a|bb|b|" + "bb|b|aa|a|"
    assert [len(own) for own in found.values()] == [2, 2]


def test_the_clock_starts_and_stops_after_synchronization() -> None:
    log: list[str] = []
    measure([candidate("a", log)], rounds=1, warmup=0, synchronize=partial(log.append, "wait"))
    assert log == ["wait", "a", "wait"]


def test_progress_is_reported_round_by_round() -> None:
    lines: list[str] = []
    measure([candidate("a", [])], rounds=2, warmup=1, progress=lines.append)
    assert lines == ["warming up", "round 1 of 2", "round 2 of 2"]


def test_the_ratio_is_taken_within_each_round() -> None:
    """The machine was three times as slow in the last round, for both."""
    ours = [Measurement(1, 10), Measurement(2, 10), Measurement(3, 10)]
    theirs = [Measurement(2, 10), Measurement(3, 10), Measurement(9, 10)]
    assert ratio(ours, theirs) == (2.0, 1.5, 3.0)
    assert ratio(theirs, ours).median == 1 / 2.0


def test_more_work_in_the_same_time_is_faster() -> None:
    assert ratio([Measurement(4, 40)], [Measurement(4, 10)]).median == 4


def test_a_ratio_needs_equally_many_rounds() -> None:
    with pytest.raises(ValueError):
        ratio([Measurement(1, 1)], [])


def test_the_fastest_candidate_is_the_one_with_the_highest_median_rate() -> None:
    found = {
        "us, slow": [Measurement(2, 1)] * 3,
        "us, fast": [Measurement(1, 1), Measurement(1, 1), Measurement(99, 1)],
        "them": [Measurement(0.1, 1)] * 3,
    }
    assert fastest(found, "us") == "us, fast"
    assert fastest(found, "absent") is None


def test_a_summary_is_median_and_range() -> None:
    assert summarize([5, 1, 3]) == (3, 1, 5)
