"""The conclusions of the report follow from the measured values."""

from dataclasses import replace

import pytest

from clearhead.compare.rnn.findings import (
    TIE,
    CurvePoint,
    DecodingCost,
    Gradients,
    PerModel,
    Question,
    Recall,
    StepCost,
    StudyResults,
    TranslationCurves,
    exponents,
    questions,
    reach,
    remaining,
)
from clearhead.compare.rnn.study import as_markdown
from clearhead.compare.rnn.translator import NAMES, RECURRENT, TRANSFORMER, Size
from clearhead.compare.timing import Machine

LENGTHS = [8, 32]


def results(transformer: float, rnn: float) -> StudyResults:
    """Synthetic results: one value for the Transformer, one for all RNNs."""
    flat: PerModel = {n: [transformer if n == TRANSFORMER else rnn] * 2 for n in NAMES}
    shares = {name: [1.0, own[1] / 100] for name, own in flat.items()}
    point = {n: [CurvePoint(30.0, 900, own[0], own[0])] * 2 for n, own in flat.items()}
    return StudyResults(
        "a setting",
        Machine("chip", 2, 2, [], "", 0.0, "2", "3"),
        dict.fromkeys(NAMES, Size(7, 99)),
        StepCost(64, LENGTHS, flat, flat),
        Gradients(LENGTHS, shares),
        Recall(5, [100] * len(LENGTHS), LENGTHS, shares, flat),
        [TranslationCurves("Synthetic", 60, 30.0, point)],
        DecodingCost(LENGTHS, flat, flat),
    )


def bullets(text: str, title: str) -> list[str]:
    section = text.split(f"## {title}")[1].split("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("- ")]


def test_the_winner_changes_with_the_values() -> None:
    fast, slow = as_markdown(results(2.0, 60.0)), as_markdown(results(60.0, 2.0))
    step = "A training step of 64 tokens in sentences of 32"
    assert any(step in line for line in bullets(fast, "Where the Transformer wins"))
    assert not any(step in line for line in bullets(fast, "Where an RNN wins"))
    assert any(step in line for line in bullets(slow, "Where an RNN wins"))
    assert not any(step in line for line in bullets(slow, "Where the Transformer wins"))
    bleu = "BLEU"
    assert any(bleu in line for line in bullets(fast, "Where an RNN wins"))
    assert any(bleu in line for line in bullets(slow, "Where the Transformer wins"))


def test_nearly_equal_values_are_a_tie() -> None:
    text = as_markdown(results(40.0, 40.5))
    assert not bullets(text, "Where the Transformer wins")
    assert not bullets(text, "Where an RNN wins")
    assert "Nowhere in this run." in text
    assert len(bullets(text, "Too close to call (within 5 %, or within chance)")) == len(
        list(questions(results(40.0, 40.5)))
    )


def test_every_question_is_answered_with_both_values_and_the_right_name() -> None:
    values = dict(zip(NAMES, [10.0, 30.0, 7.0, 20.0, 9.0], strict=True))
    less, more = Question("Q", values, " ms"), Question("Q", values, " ms", less_is_better=False)
    assert (less.winner, more.winner) == ("GRU", "LSTM")
    assert less.sentence() == "Q: Transformer 10.0 ms, best RNN (GRU) 7.00 ms, a factor of 1.43"
    assert "best RNN (LSTM) 30.0 ms, a factor of 3.00" in more.sentence()


def test_a_difference_within_chance_is_a_tie() -> None:
    values = {TRANSFORMER: 2.0, **dict.fromkeys(RECURRENT, 4.0)}
    assert Question("Q", values, " %", False, margin=3.0).winner == TIE
    assert Question("Q", values, " %", False, margin=1.0).winner == "LSTM"


def test_a_model_that_ran_out_of_time_did_not_solve_the_task() -> None:
    found = results(1.0, 1.0)
    recall = Recall(
        5, [100] * 2, LENGTHS, {n: [1.0, 0.2] for n in NAMES}, {n: [40.0, 50.0] for n in NAMES}
    )
    recall.accuracy[TRANSFORMER][1] = 1.0
    recall.sequences[TRANSFORMER][1] = 90.0
    by_topic = {q.about: q for q in questions(replace(found, recall=recall))}
    (question,) = [
        q for about, q in by_topic.items() if about.startswith("Sequences until a token 32")
    ]
    assert question.values["LSTM"] == 100
    assert question.winner == TRANSFORMER


def test_the_exponent_is_the_power_of_the_length() -> None:
    lengths = [16, 64, 512]
    values = {
        "flat": [3.0] * 3,
        "line": [2.0 * n for n in lengths],
        "square": [n**2 / 7 for n in lengths],
    }
    found = exponents(lengths, values)
    assert found == pytest.approx({"flat": 0.0, "line": 1.0, "square": 2.0})


def test_reach_is_the_distance_from_which_less_than_a_hundredth_is_left() -> None:
    assert reach([1, 2, 3], [1.0, 0.02, 0.008]) == 3
    assert reach([1, 2, 3, 4], [1.0, 0.002, 0.02, 0.008]) == 4  # it rose once
    assert reach([1, 2, 3], [1.0, 1.2, 0.01]) is None


def test_the_remaining_share_does_not_depend_on_a_single_token() -> None:
    distances = list(range(1, 101))
    fading = [7.0 * 0.9**distance for distance in distances]
    assert remaining(distances, fading) == pytest.approx(
        [0.9 ** (d - 1) for d in distances], rel=0.8
    )
    outlier = [*fading[:-1], 1e4 * fading[-1]]
    assert remaining(distances, outlier)[-1] < 5 * remaining(distances, fading)[-1]
    assert remaining([1, 2, 3], [5.0, 0.0, 0.0]) == [1.0, 0.0, 0.0]
