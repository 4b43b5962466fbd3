"""Labels: their kind is what most of them look like, and every other one is named."""

import random
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from clearhead.biology import training
from clearhead.biology.benchmark import Plan, Truth, _classical, benchmark
from clearhead.biology.examples import (
    Encoder,
    fold_column,
    hold_out,
    is_split_off,
    kind_of_answer,
    read_parts,
)
from clearhead.biology.recipe import BiologyData
from clearhead.biology.vocabulary import Vocabulary
from clearhead.compare.sequence_baselines import baselines
from clearhead.data.sequences import Record, read_records
from clearhead.errors import UserError
from clearhead.training import session
from tests.biology.synthetic import bases, write_numbers, write_promoters

RNG = random.Random(1)
SEQUENCES = [bases(12, RNG) for _ in range(40)]


def write(path: Path, labels: list[str], header: str = "sequence,label") -> Path:
    rows = [f"{s},{label}" for s, label in zip(SEQUENCES, labels, strict=True)]
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def refused(path: Path, says: str) -> None:
    """In training and in the benchmark, with one line."""
    with pytest.raises(UserError, match=says) as caught:
        read_parts(BiologyData(train=str(path)), 1)
    assert "\n" not in str(caught.value)
    with pytest.raises(UserError, match=says):
        benchmark(list(read_records(path)), {}, Plan(2, only=("majority",)), path.parent)


@pytest.mark.parametrize("odd", ["inf", "-inf", "NA", "1.2a"])
def test_what_is_no_number_among_numbers_is_named(tmp_path: Path, odd: str) -> None:
    labels = [str(number / 7) for number in range(40)]
    labels[4] = odd
    path = write(tmp_path / "x.csv", labels)
    assert kind_of_answer(list(read_records(path))) == "number"
    refused(path, rf"line 6: the label '{odd}' is not a finite number")


def test_a_position_without_a_label_is_named(tmp_path: Path) -> None:
    labels = ["HE" * 6] * 40
    labels[5] = "HE" * 5
    refused(write(tmp_path / "x.csv", labels), "line 7: 12 letters, but 10 labels")


@pytest.mark.parametrize(
    ("mask", "says"),
    [
        ("TF" * 6, r"line 2: expected a mask of 12 characters.* 1 where the label counts"),
        ("01" * 5, "line 2: expected a mask of 12 characters"),
        ("0" * 12, "line 2: the mask of this record and of all others has only 0"),
    ],
)
def test_a_mask_has_a_0_or_1_for_each_position(tmp_path: Path, mask: str, says: str) -> None:
    path = write(tmp_path / "x.csv", ["HE" * 6 + f",{mask}"] * 40, "sequence,labels,mask")
    refused(path, says)


def test_a_record_whose_mask_has_only_0_is_left_out(tmp_path: Path) -> None:
    labels = ["HE" * 6 + f",{'1' * 12 if number % 2 else '0' * 12}" for number in range(40)]
    path = write(tmp_path / "x.csv", labels, "sequence,labels,mask")
    parts = read_parts(BiologyData(train=str(path)), 1)
    assert len(parts.train) + len(parts.dev) == 20
    assert all("1" in (record.mask or "") for record in [*parts.train, *parts.dev])


def test_a_label_at_masked_positions_alone_is_no_class(tmp_path: Path) -> None:
    path = write(
        tmp_path / "x.csv", ["-" + "HE" * 5 + "-,011111111110"] * 40, "sequence,labels,mask"
    )
    assert read_parts(BiologyData(train=str(path)), 1).labels == ["E", "H"]


def test_a_label_of_its_own_for_each_record_is_refused(tmp_path: Path) -> None:
    labels = [f"class{number}" for number in range(40)]
    refused(write(tmp_path / "x.csv", labels), "each of 40 records has a label of its own")


def test_numbers_with_a_decimal_comma_are_no_classes(tmp_path: Path) -> None:
    rows = [f"ACGT{'ACGT'[n % 4]}\t{n % 7},{n}" for n in range(60)]
    (tmp_path / "x.tsv").write_text("\n".join(["sequence\tlabel", *rows]), "utf-8")
    refused(tmp_path / "x.tsv", "write numbers with a decimal point")


@pytest.mark.parametrize("count", [3, 40])
def test_rare_classes_are_held_out_whatever_their_label(count: int) -> None:
    """Two records of each class: no class has a tenth to give."""
    records = [Record("x", str(n), SEQUENCES[n], f"class{n // 2}") for n in range(count)]
    kept, held = hold_out(records, 0.1, 1, by_label=True)
    assert len(held) == max(1, count // 10)
    assert sorted([*kept, *held]) == sorted(records)


def test_equal_sequences_cannot_be_held_out() -> None:
    records = [Record("x", str(n), SEQUENCES[0], "ab"[n % 2]) for n in range(9)]
    with pytest.raises(UserError, match="all have the same sequence"):
        hold_out(records, 0.1, 1, by_label=True)


@pytest.mark.parametrize(
    ("numbers", "domain", "section", "says"),
    [
        (True, "dna", {"run": {"metric": "matthews"}}, "give spearman or loss"),
        (False, "dna", {"run": {"metric": "spearman"}}, "give matthews, accuracy, macro_f1"),
        (False, "protein", {"augment": {"both_strands": True}}, "is for DNA alone"),
    ],
)
def test_a_recipe_that_does_not_fit_the_data_is_refused(
    tmp_path: Path, numbers: bool, domain: str, section: dict[str, Any], says: str
) -> None:
    path = (write_numbers if numbers else write_promoters)(tmp_path / "x.csv", 40)
    values = {"data": {"train": str(path), "domain": domain}} | section
    with pytest.raises(UserError, match=says):
        training.resolve(values)


SPLITS = ["Train", "VALID", "test"]


def write_splits(path: Path, splits: list[str], header: str = "split") -> Path:
    labels = [f"{'ab'[number // 3 % 2]},{splits[number % len(splits)]}" for number in range(40)]
    return write(path, labels, f"sequence,label,{header}")


@pytest.mark.parametrize("change", [str.lower, str.upper, str.title])
def test_parts_are_read_in_upper_and_lower_case(tmp_path: Path, change: Any) -> None:
    path = write_splits(tmp_path / "x.csv", [change(name) for name in SPLITS])
    parts = read_parts(BiologyData(train=str(path)), 1)
    names = [record.name for record in [*parts.train, *parts.dev]]
    assert names == [str(n) for part in (1, 2) for n in range(part, 41, 3)]
    assert not parts.split_off and is_split_off(BiologyData(), parts.dev) == parts.split_off
    assert fold_column(list(read_records(path))).tolist() == [-1, -1, 0] * 13 + [-1]  # type: ignore[union-attr]


@pytest.mark.parametrize("splits", [["test"], ["Valid", "test"], ["dev", "held out"]])
def test_a_table_without_a_training_record_is_refused(tmp_path: Path, splits: list[str]) -> None:
    path = write_splits(tmp_path / "x.csv", splits)
    refused(path, r"line 2: the split column has only .*, and never train; .*--split-column")


def test_training_on_a_table_of_folds_takes_every_record(tmp_path: Path) -> None:
    path = write_splits(tmp_path / "x.csv", ["0", "1", "2"], "fold")
    parts = read_parts(BiologyData(train=str(path)), 1)
    assert len(parts.train) + len(parts.dev) == 40 and parts.split_off


@pytest.mark.parametrize(("odd", "warned"), [("NA", True), ("None", True), ("Na", False)])
def test_a_class_that_may_be_a_missing_label_is_warned_of(
    tmp_path: Path, odd: str, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    labels = [odd if number % 5 == 0 else "ab"[number % 2] for number in range(40)]
    path = write(tmp_path / "x.csv", labels)
    training.resolve({"data": {"train": str(path), "domain": "dna"}})
    assert (f"{odd} is learned as a class" in caplog.text) == warned


def test_equal_sequences_in_training_and_validation_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = write_splits(tmp_path / "x.csv", ["train", "valid"])
    head, *rows = path.read_text(encoding="utf-8").splitlines()
    same = rows[0].split(",")[0]
    rows[1] = ",".join([same, *rows[1].split(",")[1:]])
    path.write_text("\n".join([head, *rows]), encoding="utf-8")
    training.resolve({"data": {"train": str(path), "domain": "dna"}})
    assert "1 of 20 validation records have the same sequence as a training record" in caplog.text


def test_a_list_of_classes_that_is_cut_has_an_ellipsis(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", [f"c{number % 12}" for number in range(40)])
    recipe = training.resolve({"data": {"train": str(path), "domain": "dna"}, "run": {"steps": 1}})
    task = session.start(recipe, tmp_path / "run").task
    assert "12 classes (c0, c1, c10, c11, c2, c3, c4, c5, c6, c7, …)" in task.summary()


def test_in_a_cut_sequence_the_last_token_has_no_label() -> None:
    encode = Encoder(Vocabulary.of_residues(), ["E", "H"], "positions", 6)
    (example,) = encode([Record("p", "n", "ACDEFGH", "HHHHEEE")])
    assert list(example.targets) == [-100, 1, 1, 1, 1, -100]


def test_validation_records_may_each_have_a_class_of_their_own(tmp_path: Path) -> None:
    train = write(tmp_path / "train.csv", ["a", "b", "c", "c"] * 10)
    few = [f"{bases(12, RNG)},{label}" for label in "abc"]
    (tmp_path / "dev.csv").write_text("\n".join(["sequence,label", *few]), encoding="utf-8")
    parts = read_parts(BiologyData(train=str(train), dev=str(tmp_path / "dev.csv")), 1)
    assert [record.label for record in parts.dev] == ["a", "b", "c"]


@pytest.mark.parametrize("baseline", ["majority", "logistic regression, one-hot"])
def test_a_label_as_long_as_its_sequence_is_still_a_class(tmp_path: Path, baseline: str) -> None:
    path = write(tmp_path / "x.csv", ["l" * 12, "m"] * 20)
    assert benchmark(list(read_records(path)), {}, Plan(2, only=(baseline,)), tmp_path / "runs")


def test_a_fold_without_which_one_class_is_left_is_named(tmp_path: Path) -> None:
    rows = [f"{s},{'x' if n < 20 else 'y'},{n // 20}" for n, s in enumerate(SEQUENCES)]
    (tmp_path / "x.csv").write_text("\n".join(["sequence,label,fold", *rows]), encoding="utf-8")
    with pytest.raises(UserError, match="without fold 0 one class is left"):
        benchmark(list(read_records(tmp_path / "x.csv")), {}, Plan(2), tmp_path / "runs")


def test_the_advice_for_classes_that_are_families_works(tmp_path: Path) -> None:
    """A higher similarity divides the families, so that each fold has records of both."""
    rows, rng = [], random.Random(2)
    for label, family in (("x", bases(30, rng)), ("y", bases(30, rng))):
        rows += [f"{family[:n]}N{family[n + 1 :]},{label}" for n in range(0, 30, 3)]
    (tmp_path / "x.csv").write_text("\n".join(["sequence,label", *rows]), encoding="utf-8")
    records = list(read_records(tmp_path / "x.csv"))
    with pytest.raises(UserError, match=r"one class is left .* a higher --similarity"):
        benchmark(records, {}, Plan(2, similarity=0.5), tmp_path / "runs")
    assert benchmark(records, {}, Plan(2, similarity=0.95, only=("majority",)), tmp_path / "runs")


def test_boosting_learns_a_class_of_one_record_among_many() -> None:
    """scikit-learn holds out a part of each class where there are more than 10,000 records."""
    words = ["".join(word) for word in product("ACGT", repeat=7)][:11_300]
    records = [Record("x", s, s, "odd" if n == 3 else "ab"[n % 2]) for n, s in enumerate(words)]
    boosting = next(b for b in baselines("classes", records) if b.name == "gradient boosting")
    few = boosting._replace(settings=[boosting.settings[0].set_params(max_iter=1)])
    answer = _classical(few, Truth("classes", ["a", "b", "odd"]))
    assert answer(records, records[:5], Path()).shape == (5, 3)
