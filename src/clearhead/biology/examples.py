"""Labelled records as token ids and targets."""

import math
import re
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clearhead.biology.domains import other_strand, read_labelled
from clearhead.biology.recipe import Answer, BiologyData
from clearhead.biology.vocabulary import Vocabulary
from clearhead.data.labelled import split_off
from clearhead.data.labelled_batches import NOTHING, Example
from clearhead.data.sequences import Columns, Record
from clearhead.errors import UserError, listed

TRAIN, DEV = ("train", "training"), ("valid", "validation", "dev", "val")
TEST = ("test", "testing")
FEW_CLASSES = 50


class Parts(NamedTuple):
    """What is learned from, what is held out, and the classes."""

    train: list[Record]
    dev: list[Record]
    labels: list[str]  # none for numbers
    answer: Answer
    split_off: bool = False  # dev was held out of the training data; another seed holds out others

    @property
    def training_data(self) -> list[Record]:
        """The training data before any record was held out: the same for every seed.

        Vocabulary, medians and the scale of numbers are fitted on them, so that all members of a
        run share these.
        """
        return [*self.train, *self.dev] if self.split_off else self.train


def read_parts(data: BiologyData, seed: int) -> Parts:
    """The records of data.train, and of data.dev or a share held out of data.train.

    A column that says train and valid decides instead; records of other parts are left out. A
    column of folds says neither: all its records are learned from.

    Raises:
        UserError: no file is named, or what the readers refuse.
    """
    if not data.train:
        raise UserError("there is nothing to learn from; give a file of labelled sequences")
    columns = Columns(data.sequence, data.label, data.split)
    records = read_labelled(data.train, columns, data.domain)
    answer = data.answer if data.answer != "auto" else kind_of_answer(records)
    named = list(zip(parts_named(records), records, strict=True))
    train = [record for name, record in named if name in TRAIN] or records
    dev = [record for name, record in named if name in DEV]
    if data.dev:
        dev = read_labelled(data.dev, columns, data.domain)
    train = check_labels(train, answer)
    dev = dev if answer == "classes" else check_labels(dev, answer)
    labels = [] if answer == "number" else classes_of(train, answer)
    if split_off := not dev:
        train, dev = hold_out(train, data.dev_share, seed, by_label=answer == "classes")
    return Parts(train, dev, labels, answer, split_off)


def parts_named(records: Sequence[Record]) -> list[str]:
    """What the split column says of each record, in lower case; empty without a column.

    Raises:
        UserError: it says validation or test, and of no record train.
    """
    names = [(record.split or "").lower() for record in records]
    if set(names) & {*DEV, *TEST} and not set(names) & {*TRAIN}:
        raise UserError(
            f"{records[0].place}: the split column has only {', '.join(sorted(set(names)))}, "
            "and never train; correct it, or name another column: --split-column"
        )
    return names


def is_split_off(data: BiologyData, dev: Iterable[Record]) -> bool:
    """Whether validation records were held out by a seed, not given as a file or by a column."""
    return not data.dev and all((record.split or "").lower() not in DEV for record in dev)


def kind_of_answer(records: Sequence[Record]) -> Answer:
    """One letter a position, many different numbers, or classes: what most labels look like.

    Raises:
        UserError: they are many different numbers with a decimal comma.
    """
    labels, half = [record.label or "" for record in records], len(records) / 2
    if sum(len(r.label or "") == len(r.sequence) > 1 for r in records) > half:
        return "positions"
    distinct = set(labels)
    many = len(distinct) > FEW_CLASSES or len(distinct) > half > 2
    if many and all(re.fullmatch(r"-?\d+,\d+", label) for label in distinct):
        raise UserError(
            f"{records[0].place}: the label {labels[0]!r} and all others have a comma; write "
            "numbers with a decimal point"
        )
    return "number" if many and sum(map(_is_number, labels)) > half else "classes"


def check_labels(records: Sequence[Record], answer: Answer) -> list[Record]:
    """The records that something can be learned from: of positions, one that counts at least.

    Raises:
        UserError: the label of a record is of another kind than the rest, or no two records
            have the same class.
    """
    if answer == "number":
        numbers_of(records)
    elif answer == "classes":
        if len({record.label for record in records}) == len(records) > 2:
            raise UserError(
                f"{records[0].place}: each of {len(records)} records has a label of its own; "
                "expected classes that several records share, or numbers"
            )
    else:
        counted = [record for record in records if _counts(record)]
        if records and not counted:
            raise UserError(
                f"{records[0].place}: the mask of this record and of all others has only 0; give 1 "
                "where a label counts"
            )
        return counted
    return list(records)


def _counts(record: Record) -> bool:
    """Whether any position of a record counts.

    Raises:
        UserError: there is not one label for each letter, or a mask holds more than 0 and 1.
    """
    label, mask, length = record.label or "", record.mask or "1", len(record.sequence)
    if len(label) != length:
        raise UserError(
            f"{record.place}: {length} letters, but {len(label)} labels; expected one each"
        )
    if (record.mask is not None and len(mask) != length) or set(mask) - set("01"):
        raise UserError(
            f"{record.place}: expected a mask of {length} characters, one for each letter: 1 where "
            "the label counts, 0 where not"
        )
    return "1" in mask


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def classes_of(records: Iterable[Record], answer: Answer) -> list[str]:
    """The labels that occur, sorted.

    Raises:
        UserError: fewer than two occur.
    """
    names = set(chain.from_iterable(labels_of(record, answer) for record in records))
    if len(names) < 2:
        raise UserError(f"the only label is {', '.join(names)}; give data with two or more classes")
    return sorted(names)


def labels_of(record: Record, answer: str) -> Sequence[str]:
    """The label of a record, or those of its positions that count."""
    label = record.label or ""
    if answer != "positions":
        return [label]
    return [label[position] for position in record.counted]


def hold_out(
    records: Sequence[Record], share: float, seed: int, by_label: bool
) -> tuple[list[Record], list[Record]]:
    """Training records, and a share held out; equal sequences stay on one side.

    Where each label is too rare for its share of it, records are held out whatever their label.

    Raises:
        UserError: all sequences are equal.
    """
    own, different = {r.name: r for r in records}, len({r.content for r in records})
    if different < 2:
        raise UserError(
            "no record can be held out for validation, since all have the same sequence; give "
            "data with different ones"
        )
    plain = [record._replace(label="") for record in records]
    try:
        sides = split_off(records if by_label else plain, share, seed)
    except UserError:
        sides = split_off(plain, max(share, 0.6 / different), seed)
    kept, held = ([own[record.name] for record in side] for side in sides)
    return kept, held


def fold_column(records: Sequence[Record]) -> NDArray[np.int64] | None:
    """The folds that the file gives, numbered from 0; none without such a column.

    Where the column says train and test, there is one fold, the test records; the others have -1.

    Raises:
        UserError: as `parts_named`.
    """
    names = parts_named(records)
    if not all(names):
        return None
    if set(names) & set(TRAIN):
        tested = TEST if set(names) & set(TEST) else DEV
        return np.array([0 if name in tested else -1 for name in names], dtype=np.int64)
    order = {name: number for number, name in enumerate(sorted(set(names)))}
    return np.array([order[name] for name in names], dtype=np.int64)


class Encoder(NamedTuple):
    """How records become examples: ids, and targets by the kind of answer.

    Targets are a class, a class for each token, or, of numbers, the row of `values`.
    """

    vocabulary: Vocabulary
    labels: Sequence[str]
    answer: Answer
    longest: int

    def __call__(self, records: Sequence[Record]) -> list[Example]:
        """One example a record; a sequence over `longest` tokens loses its end."""
        return [self.example(record, row) for row, record in enumerate(records)]

    def example(self, record: Record, row: int) -> Example:
        """Of one record.

        Raises:
            UserError: its label is not one of training's, or its tokens are unknown.
        """
        try:
            ids = self.vocabulary.fitted(self.vocabulary.encode(record.sequence), self.longest)
        except UserError as error:
            raise UserError(f"{record.place}: {error}") from error
        if self.answer == "number":
            return Example(ids, None, [row])
        numbers = {label: number for number, label in enumerate(self.labels)}
        label = record.label or ""
        try:
            if self.answer == "classes":
                return Example(ids, None, [numbers[label]])
            return Example(ids, None, self._by_position(record, numbers, len(ids)))
        except KeyError as error:
            raise UserError(
                f"{record.place}: the label {error} never occurs in the training data, which has "
                f"{listed(self.labels)}; correct it, or add training records with this label"
            ) from error

    def _by_position(self, record: Record, numbers: dict[str, int], length: int) -> list[int]:
        label, mask = record.label or "", record.mask or "1" * len(record.sequence)
        if self.vocabulary.cut.kind != "characters":
            raise UserError("labels of positions need tokens.kind=characters")
        before, after = self.vocabulary.edges
        found = [numbers[c] if m == "1" else NOTHING for c, m in zip(label, mask, strict=True)]
        kept = [*[NOTHING] * before, *found][: length - after]
        return [*kept, *[NOTHING] * after]


def numbers_of(records: Sequence[Record]) -> list[float]:
    """The labels as numbers.

    Raises:
        UserError: a label is no number, or infinite.
    """
    labels = [record.label or "" for record in records]
    values = [float(label) if _is_number(label) else math.nan for label in labels]
    for record, value in zip(records, values, strict=True):
        if not math.isfinite(value):
            raise UserError(
                f"{record.place}: the label {record.label!r} is not a finite number, as the others "
                "are; correct it or remove the record"
            )
    return values


def both_strands(records: Sequence[Record], by_position: bool = False) -> list[Record]:
    """Every record, then every record read from the other strand."""
    return [*records, *(other_strand(record, by_position) for record in records)]
