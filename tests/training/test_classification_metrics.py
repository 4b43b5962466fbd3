"""Scores of classifiers and taggers: scikit-learn's numbers, and spans that must fit whole."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.errors import UserError
from clearhead.training.classification_metrics import (
    ConfusionMatrix,
    are_span_labels,
    span_f1,
    spans,
)

LABELS = ["a", "b", "c", "d"]
pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=40)


def confusion(found: list[tuple[int, int]]) -> ConfusionMatrix:
    truth, said = np.array(found, dtype=np.int64).T
    return ConfusionMatrix.of(LABELS, truth, said)


@pytest.mark.filterwarnings("ignore:A single label was found:UserWarning")
@given(pairs)
def test_the_numbers_are_those_of_scikit_learn(found: list[tuple[int, int]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    truth, said = zip(*found, strict=True)
    ours = confusion(found)
    assert ours.accuracy == pytest.approx(metrics.accuracy_score(truth, said))
    assert ours.macro_f1 == pytest.approx(metrics.f1_score(truth, said, average="macro"))
    assert ours.matthews == pytest.approx(metrics.matthews_corrcoef(truth, said), abs=1e-12)
    assert (ours.counts == metrics.confusion_matrix(truth, said, labels=range(4))).all()
    precision, recall, f1, examples = metrics.precision_recall_fscore_support(
        truth, said, labels=range(4), zero_division=0
    )
    for i, score in enumerate(ours.by_class()):
        expected = (precision[i], recall[i], f1[i], examples[i])
        assert score[1:] == pytest.approx(expected)


@given(pairs)
def test_the_majority_is_what_a_constant_answer_reaches(found: list[tuple[int, int]]) -> None:
    best = max(confusion([(t, k) for t, _ in found]).accuracy for k in range(4))
    assert confusion(found).majority == pytest.approx(best)


def test_an_always_right_classifier_has_ones_and_a_constant_one_no_correlation() -> None:
    right = confusion([(0, 0), (1, 1), (3, 3), (3, 3)])
    assert (right.accuracy, right.macro_f1, right.matthews) == (1, 1, 1)
    assert confusion([(0, 3), (1, 3), (3, 3)]).matthews == 0


def test_the_table_shows_a_rare_label_that_is_never_found_and_what_it_is_taken_for() -> None:
    lines = list(confusion([(0, 0)] * 9 + [(2, 0)] * 2 + [(2, 1)]).table())
    row = next(line.split() for line in lines if line.startswith("c"))
    assert row == ["c", "0.000", "0.000", "0.000", "3", "a", "(2)"]
    absent = next(line.split() for line in lines if line.startswith("d"))
    assert absent == ["d", "–", "–", "–", "0", "not", "validated"]
    assert len(lines) == 5 and len(list(confusion([(0, 0)]).table(most=2))) == 4


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("O B-x I-x O", [("x", 1, 3)]),
        ("B-x B-x I-x", [("x", 0, 1), ("x", 1, 3)]),
        ("I-x I-x O I-y", [("x", 0, 2), ("y", 3, 4)]),
        ("B-x I-y I-y", [("x", 0, 1), ("y", 1, 3)]),
        ("B-a-b I-a-b", [("a-b", 0, 2)]),
        ("O O", []),
    ],
)
def test_spans_are_read_as_conll_reads_them(
    labels: str, expected: list[tuple[str, int, int]]
) -> None:
    assert spans(labels.split()) == expected


def test_a_label_that_does_not_count_ends_a_span() -> None:
    assert spans(["B-x", None, "I-x"]) == [("x", 0, 1), ("x", 2, 3)]


def test_a_span_half_found_is_not_found() -> None:
    truth = [["B-x", "I-x", "O"], ["O", "B-y", "O"]]
    assert span_f1(truth, truth) == 1
    assert span_f1(truth, [["B-x", "O", "O"], ["O", "B-y", "O"]]) == 0.5
    assert span_f1(truth, [["B-y", "I-y", "O"], ["O", "O", "O"]]) == 0
    assert span_f1([["O"]], [["O"]]) == 0


def test_only_b_i_o_labels_mean_spans() -> None:
    assert are_span_labels(["O", "B-x", "I-x"]) and are_span_labels(["B-x"])
    assert not are_span_labels(["O", "I-x"]) and not are_span_labels(["H", "E", "C"])
    assert not are_span_labels(["B-", "O"])


def test_lists_are_counted_as_arrays_are() -> None:
    found = ConfusionMatrix.of(["a", "b", "c"], [0, 2, 2, 1], [1, 2, 0, 1])
    assert found.counts.tolist() == [[0, 1, 0], [0, 1, 0], [1, 0, 1]]
    assert ConfusionMatrix.of(["a", "b"], [], []).examples == 0


@pytest.mark.parametrize(("truth", "said"), [([0, 1], [1]), ([0, 3], [1, 1]), ([0, 1], [1, -1])])
def test_pairs_that_are_none_are_refused(truth: list[int], said: list[int]) -> None:
    """Index 3 of three labels was counted in the row of another label."""
    with pytest.raises(UserError, match="as an index from 0 to 2"):
        ConfusionMatrix.of(["a", "b", "c"], np.array(truth), np.array(said))
