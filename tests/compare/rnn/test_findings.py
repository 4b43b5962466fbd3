"""The report says what the numbers say: other numbers, other sentences."""

from dataclasses import replace

import pytest

from clearhead.compare.hardware import Machine
from clearhead.compare.rnn.entrants import NAMES, RECURRENT, TRANSFORMER, Size
from clearhead.compare.rnn.findings import TIE, Question, left_of, number, questions, reach, slopes
from clearhead.compare.rnn.numbers import (
    Gradients,
    Lesson,
    Numbers,
    PerName,
    Point,
    Recall,
    Wall,
    Writing,
)
from clearhead.compare.rnn.report import as_markdown

LENGTHS = [8, 32]


def numbers(transformer: float, rnn: float) -> Numbers:
    """Everybody's every number, made up: one for the Transformer, one for all RNNs."""
    flat: PerName = {n: [transformer if n == TRANSFORMER else rnn] * 2 for n in NAMES}
    shares = {name: [1.0, own[1] / 100] for name, own in flat.items()}
    point = {n: [Point(30.0, 900, own[0], own[0])] * 2 for n, own in flat.items()}
    return Numbers(
        "a setting",
        Machine("chip", 2, 2, [], "", 0.0, "2", "3"),
        dict.fromkeys(NAMES, Size(7, 99)),
        Wall(64, LENGTHS, flat, flat),
        Gradients(LENGTHS, shares),
        Recall(5, [100] * len(LENGTHS), LENGTHS, shares, flat),
        [Lesson("Made up", 60, 30.0, point)],
        Writing(LENGTHS, flat, flat),
    )


def bullets(text: str, title: str) -> list[str]:
    section = text.split(f"## {title}")[1].split("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("- ")]


def test_the_winner_changes_with_the_numbers() -> None:
    fast, slow = as_markdown(numbers(2.0, 60.0)), as_markdown(numbers(60.0, 2.0))
    step = "A training step of 64 tokens in sentences of 32"
    assert any(step in line for line in bullets(fast, "Where the Transformer wins"))
    assert not any(step in line for line in bullets(fast, "Where an RNN wins"))
    assert any(step in line for line in bullets(slow, "Where an RNN wins"))
    assert not any(step in line for line in bullets(slow, "Where the Transformer wins"))
    bleu = "BLEU"
    assert any(bleu in line for line in bullets(fast, "Where an RNN wins"))
    assert any(bleu in line for line in bullets(slow, "Where the Transformer wins"))


def test_equal_numbers_are_called_equal() -> None:
    text = as_markdown(numbers(40.0, 40.5))
    assert not bullets(text, "Where the Transformer wins")
    assert not bullets(text, "Where an RNN wins")
    assert "Nowhere in this run." in text
    assert len(bullets(text, "Too close to call (within 5 %, or within what chance does)")) == len(
        list(questions(numbers(40.0, 40.5)))
    )


def test_every_question_is_answered_with_both_numbers_and_the_right_name() -> None:
    values = dict(zip(NAMES, [10.0, 30.0, 7.0, 20.0, 9.0], strict=True))
    less, more = Question("Q", values, " ms"), Question("Q", values, " ms", less_is_better=False)
    assert (less.winner, more.winner) == ("GRU", "LSTM")
    assert less.sentence() == "Q: Transformer 10.0 ms, best RNN (GRU) 7.00 ms, a factor of 1.43"
    assert "best RNN (LSTM) 30.0 ms, a factor of 3.00" in more.sentence()


def test_chance_is_no_victory() -> None:
    values = {TRANSFORMER: 2.0, **dict.fromkeys(RECURRENT, 4.0)}
    assert Question("Q", values, " %", False, margin=3.0).winner == TIE
    assert Question("Q", values, " %", False, margin=1.0).winner == "LSTM"


def test_who_ran_out_of_time_has_not_learnt_it_sooner() -> None:
    found = numbers(1.0, 1.0)
    recall = Recall(
        5, [100] * 2, LENGTHS, {n: [1.0, 0.2] for n in NAMES}, {n: [40.0, 50.0] for n in NAMES}
    )
    recall.accuracy[TRANSFORMER][1] = 1.0
    recall.sequences[TRANSFORMER][1] = 90.0
    asked = {q.about: q for q in questions(replace(found, recall=recall))}
    (question,) = [
        q for about, q in asked.items() if about.startswith("Sequences until a token 32")
    ]
    assert question.values["LSTM"] == 100
    assert question.winner == TRANSFORMER


def test_a_slope_is_the_power_of_the_length() -> None:
    lengths = [16, 64, 512]
    values = {
        "flat": [3.0] * 3,
        "line": [2.0 * n for n in lengths],
        "square": [n**2 / 7 for n in lengths],
    }
    found = slopes(lengths, values)
    assert found == pytest.approx({"flat": 0.0, "line": 1.0, "square": 2.0})


def test_reach_is_where_less_than_a_hundredth_is_left() -> None:
    assert reach([1, 2, 3], [1.0, 0.02, 0.008]) == 3
    assert reach([1, 2, 3, 4], [1.0, 0.002, 0.02, 0.008]) == 4  # it came back once
    assert reach([1, 2, 3], [1.0, 1.2, 0.01]) is None


def test_what_is_left_does_not_hang_on_a_single_word() -> None:
    distances = list(range(1, 101))
    fading = [7.0 * 0.9**place for place in distances]
    assert left_of(distances, fading) == pytest.approx([0.9 ** (d - 1) for d in distances], rel=0.8)
    loud = [*fading[:-1], 1e4 * fading[-1]]
    assert left_of(distances, loud)[-1] < 5 * left_of(distances, fading)[-1]
    assert left_of([1, 2, 3], [5.0, 0.0, 0.0]) == [1.0, 0.0, 0.0]


def test_numbers_keep_three_digits() -> None:
    assert [number(v) for v in (1234.5, 12.34, 1.234, 0.1234, 1.2e-9, 0.0)] == [
        "1,234",
        "12.3",
        "1.23",
        "0.12",
        "1e-09",
        "0",
    ]
