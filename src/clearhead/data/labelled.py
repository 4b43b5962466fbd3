"""Texts with a label, words with a label each: what a model is fine-tuned on.

They are held in memory: a hundred thousand texts of a hundred words are some 100 MB.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from clearhead.data.permutation import Permutation
from clearhead.data.table import read_table, text_of
from clearhead.errors import UserError


class LabelledText(NamedTuple):
    """A text, perhaps a second one that goes with it, and what they are."""

    place: str  # FILE, line N
    text: str
    pair: str | None
    label: str

    @property
    def labels(self) -> list[str]:
        """Its one label."""
        return [self.label]

    @property
    def content(self) -> str:
        """The texts."""
        return self.text if self.pair is None else f"{self.text}\t{self.pair}"


class LabelledWords(NamedTuple):
    """Words (or residues, or bases) and the label of each; None is not to be learned or scored."""

    place: str
    words: list[str]
    tags: list[str | None]

    @property
    def labels(self) -> list[str]:
        """All that count."""
        return [tag for tag in self.tags if tag is not None]

    @property
    def content(self) -> str:
        """The words."""
        return "\t".join(self.words)


class Labelled(Protocol):
    """Anything that has labels and stands somewhere."""

    @property
    def place(self) -> str:
        """FILE, line N."""

    @property
    def labels(self) -> list[str]:
        """Its labels."""

    @property
    def content(self) -> str:
        """What is labelled."""


Item = TypeVar("Item", bound=Labelled)


def read_labelled_texts(
    path: str | Path, text: str = "text", label: str = "label", pair: str | None = None
) -> list[LabelledText]:
    """All rows of a CSV, TSV or JSONL file, by the names of its columns.

    Raises:
        UserError: what `read_table` refuses, an unknown column (with those that there are),
            an empty text or label (with the line), or a file without rows.
    """
    found = [
        LabelledText(
            row.place,
            text_of(row, text),
            text_of(row, pair) if pair else None,
            text_of(row, label).strip(),
        )
        for row in read_table(path)
    ]
    return some(found, path)


def some(items: list[Item], path: str | Path) -> list[Item]:
    """The items, if there are any.

    Raises:
        UserError: there are none.
    """
    if not items:
        raise UserError(f"{path} holds no labelled example; expected one a row")
    return items


def label_set(items: Iterable[Labelled], path: str | Path) -> list[str]:
    """The labels that occur, in order: numbers by size, other names by the alphabet.

    Raises:
        UserError: fewer than two occur.
    """
    names = {label for item in items for label in item.labels}
    if len(names) < 2:
        raise UserError(
            f"{path}: the only label is {', '.join(map(repr, names)) or 'none'}; there is nothing "
            "to tell apart, give data with two or more"
        )
    numbers = all(name.isdecimal() for name in names)
    return sorted(names, key=(lambda name: (int(name), name)) if numbers else None)


def check_labels(items: Iterable[Labelled], known: Sequence[str]) -> None:
    """Every label must be one that training knows.

    Raises:
        UserError: one is not; with its line and those that are known.
    """
    names = set(known)
    for item in items:
        if foreign := [label for label in item.labels if label not in names]:
            shown = ", ".join(known[:12]) + (", …" if len(known) > 12 else "")
            raise UserError(
                f"{item.place}: the label {foreign[0]!r} never occurs in the training data, which "
                f"has {shown}; correct it, or add examples of it there"
            )


def split_off(items: Sequence[Item], share: float, seed: int) -> tuple[list[Item], list[Item]]:
    """What is left for training, and a share of every label set aside to judge by.

    Seeded: the same items every time. Items of the same content stay together, or what was
    learned by heart would look like understanding. An item counts for its most frequent label.

    Raises:
        UserError: a share outside 0 … 1, or one that leaves nothing on a side.
    """
    groups: dict[str, dict[str, list[int]]] = {}  # label -> content -> numbers of items
    homes: dict[str, str] = {}
    for number, item in enumerate(items):
        most = Counter(item.labels).most_common(1)
        home = homes.setdefault(item.content, most[0][0] if most else "")
        groups.setdefault(home, {}).setdefault(item.content, []).append(number)
    aside: set[int] = set()
    for rank, name in enumerate(sorted(groups)):
        same = list(groups[name].values())
        chosen = Permutation(len(same), seed, rank)(np.arange(round(share * len(same))))
        aside.update(number for place in chosen.tolist() for number in same[place])
    if not 0 < len(aside) < len(items):
        raise UserError(
            f"data.dev_share={share} of {len(items)} examples leaves nothing on one side; "
            "give more data, another share, or a file of its own as data.dev"
        )
    kept = [item for number, item in enumerate(items) if number not in aside]
    return kept, [items[number] for number in sorted(aside)]
