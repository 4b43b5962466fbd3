"""Folds: balanced, repeatable, and similar sequences stay together."""

import random
from pathlib import Path

import numpy as np
import pytest

from clearhead.biology.benchmark import Line, Plan, divide, table_of
from clearhead.biology.examples import fold_column
from clearhead.data.folds import clusters, duplicates, grouped, stratified
from clearhead.data.sequences import Record
from clearhead.errors import UserError
from clearhead.evaluation.labelled import (
    fit_temperature,
    probabilities,
    ranks,
    reliability,
    spearman,
)
from tests.biology.synthetic import bases


def records(sequences: list[str], splits: list[str] | None = None) -> list[Record]:
    return [
        Record("x", str(n), sequence, "ab"[n % 2], splits[n] if splits else None)
        for n, sequence in enumerate(sequences)
    ]


def families(count: int, size: int) -> list[str]:
    """Each family is one sequence with a few changes."""
    rng, found = random.Random(1), []
    for _ in range(count):
        parent = bases(60, rng)
        for _ in range(size):
            place = rng.randrange(60)
            found.append(parent[:place] + rng.choice("ACGT") + parent[place + 1 :])
    return found


def test_every_fold_has_every_label_equally_often() -> None:
    labels = ["a"] * 23 + ["b"] * 11 + ["c"] * 6
    folds = stratified(labels, 4, 1)
    for label in "abc":
        sizes = np.bincount(folds[np.array(labels) == label], minlength=4)
        assert sizes.max() - sizes.min() <= 1
    assert (folds == stratified(labels, 4, 1)).all() and (folds != stratified(labels, 4, 2)).any()


def test_families_are_clusters_and_stay_in_one_fold() -> None:
    sequences = families(9, 5)
    found = clusters(sequences, 0.6)
    assert found.max() == 8
    for family in range(9):
        assert len(set(found[family * 5 : family * 5 + 5].tolist())) == 1
    folds = grouped(found, 3, 1)
    assert all(len(set(folds[found == cluster].tolist())) == 1 for cluster in range(9))
    assert np.bincount(folds).tolist() == [15, 15, 15]


def test_folds_of_clusters_are_not_stratified_as_the_page_says() -> None:
    of_size, page = Plan(folds=2, similarity=0.6), Path(__file__).parents[2] / "docs" / "biology.md"
    every = [
        one._replace(label="a" if number < 5 else "b")  # the first family is a class of its own
        for number, one in enumerate(records(families(4, 5)))
    ]
    found = divide(every, "classes", of_size)
    assert len({fold for fold, one in zip(found, every, strict=True) if one.label == "a"}) == 1
    text = " ".join(page.read_text(encoding="utf-8").split())
    assert "with `--similarity`, it makes stratified folds" not in text
    assert "a class may be missing from one" in text


def test_equal_sequences_share_a_cluster() -> None:
    """A later cluster may be nearer to the second copy; both join the first that is similar."""
    sequences = [*families(30, 8), *families(30, 8)]
    for similarity in (0.3, 0.5, 0.7):
        first, second = np.split(clusters(sequences, similarity), 2)
        assert (first == second).all()


def test_too_few_clusters_are_one_line() -> None:
    with pytest.raises(UserError, match="1 clusters of similar sequences for 2 folds"):
        grouped(np.zeros(7, dtype=np.int64), 2, 1)


def test_duplicates_between_folds_are_counted() -> None:
    given = records(["ACGT", "ACGT", "GGGG", "CCCC", "CCCC"])
    assert duplicates(given, np.array([0, 1, 0, 1, 1])) == 2


def test_a_column_of_folds_is_used() -> None:
    given = records(["ACGT", "ACCT", "GGGG"], ["2", "7", "2"])
    assert divide(given, ["a", "b"], Plan()).tolist() == [0, 1, 0]


def test_a_column_of_parts_is_one_fold() -> None:
    given = records(["ACGT", "ACCT", "GGGG", "GGGA"], ["train", "test", "valid", "train"])
    folds = fold_column(given)
    assert folds is not None and folds.tolist() == [-1, 0, -1, -1]


def test_spearman_is_scipys_with_ties() -> None:
    from scipy.stats import rankdata, spearmanr

    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 9, 40).astype(float), rng.integers(0, 9, 40).astype(float)
    assert spearman(one, other) == pytest.approx(spearmanr(one, other).statistic)
    assert (ranks(one) + 1 == rankdata(one)).all()
    assert spearman(np.ones(4), np.arange(4.0)) == 0


def test_the_temperature_brings_back_what_was_multiplied() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, (4000, 3))
    chances = probabilities(logits)
    truth = np.array([rng.choice(3, p=row) for row in chances])
    assert fit_temperature(logits * 3, truth) == pytest.approx(3, rel=0.1)
    _, well = reliability(chances, truth)
    _, badly = reliability(probabilities(logits * 3), truth)
    assert well < 0.03 < badly


@pytest.mark.parametrize(
    ("count", "least", "most"), [(1, 0.7, 1.0), (4, 0.5, 0.8), (15, 0.25, 0.5)]
)
def test_correct_records_make_a_model_certain_only_by_their_number(
    count: int, least: float, most: float
) -> None:
    logits, truth = np.tile([0.85, 0.0], (count, 1)), np.zeros(count, dtype=np.int64)
    temperature = fit_temperature(logits, truth)
    assert least < temperature < most
    # Of the same size as the rule of succession, (count + 1) / (count + 2).
    sure = 1 / (1 + np.exp(-0.85 / temperature))
    assert sure == pytest.approx((count + 1) / (count + 2), abs=0.07)
    assert fit_temperature(-logits, truth) < 10.0


def test_the_best_of_each_column_is_marked() -> None:
    lines = [Line("one", {"accuracy": (0.5, 0.1)}), Line("two", {"accuracy": (0.75, 0.0)})]
    assert list(table_of(lines)) == [
        "model\taccuracy", "one\t0.5000 ± 0.1000", "two\t0.7500 ± 0.0000 *",
    ]  # fmt: skip


def test_means_that_are_printed_alike_are_both_the_best() -> None:
    means = {"one": 0.1 + 0.2, "two": 0.3, "three": 0.2}  # the first is 0.30000000000000004
    lines = [Line(name, {"accuracy": (mean, 0.0)}) for name, mean in means.items()]
    assert [line.endswith(" *") for line in table_of(lines)] == [False, True, True, False]
