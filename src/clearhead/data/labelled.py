"""Labelled texts and labelled words, on which a model is fine-tuned, and the set of their labels.

They are held in memory: a hundred thousand texts of a hundred words take about 100 MB.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import numpy as np

from clearhead.data.ordering import Permutation
from clearhead.errors import UserError, counted, listed


class LabelledText(NamedTuple):
    """A text, or a pair of texts, with one label."""

    place: str  # FILE, line N
    text: str
    pair: str | None
    label: str

    @property
    def labels(self) -> list[str]:
        """The label, as a list."""
        return [self.label]

    @property
    def content(self) -> str:
        """The text or texts: equal contents are duplicates."""
        return self.text if self.pair is None else f"{self.text}\t{self.pair}"


class LabelledWords(NamedTuple):
    """Words (or residues, or bases) and a label for each; None is neither learned nor scored."""

    place: str
    words: list[str]
    tags: list[str | None]

    @property
    def labels(self) -> list[str]:
        """The labels that are not None."""
        return [tag for tag in self.tags if tag is not None]

    @property
    def content(self) -> str:
        """The words: equal contents are duplicates."""
        return "\t".join(self.words)


class Labelled(Protocol):
    """An example with its labels and its location in a file."""

    @property
    def place(self) -> str:
        """FILE, line N."""

    @property
    def labels(self) -> list[str]:
        """The labels that count."""

    @property
    def content(self) -> str:
        """The labelled text; equal contents are duplicates."""


Item = TypeVar("Item", bound=Labelled)


def label_set(items: Iterable[Labelled], path: str | Path) -> list[str]:
    """The labels that occur, two or more, sorted: as integers if all are, otherwise as texts."""
    names = {label for item in items for label in item.labels}
    if len(names) < 2:
        raise UserError(
            f"{path}: the only label is {', '.join(map(repr, names)) or 'none'}; there is nothing "
            "to distinguish; give data with two or more"
        )
    numbers = all(name.isdecimal() and len(name) < 19 for name in names)
    return sorted(names, key=(lambda name: (int(name), name)) if numbers else None)


def check_labels(items: Iterable[Labelled], known: Sequence[str]) -> None:
    """Refuse a label that training does not have; the message has its line and the known labels."""
    names = set(known)
    for item in items:
        if foreign := [label for label in item.labels if label not in names]:
            raise UserError(
                f"{item.place}: the label {foreign[0]!r} never occurs in the training data, which "
                f"has {listed(known, 12)}; correct it, or add examples of it there"
            )


def split_off(items: Sequence[Item], share: float, seed: int) -> tuple[list[Item], list[Item]]:
    """Split items into those for training and a share of each label for validation.

    The same seed splits the same items in the same way. Items of equal content stay on one side:
    otherwise memorized examples would raise the score. An item of several labels counts for the
    most frequent one.

    Raises:
        UserError: a share outside 0 … 1, or one that leaves no item on a side.
    """
    groups: dict[str, dict[str, list[int]]] = {}  # label -> content -> indices of items
    homes: dict[str, str] = {}
    for index, item in enumerate(items):
        most = Counter(item.labels).most_common(1)
        home = homes.setdefault(item.content, most[0][0] if most else "")
        groups.setdefault(home, {}).setdefault(item.content, []).append(index)
    aside: set[int] = set()
    for rank, name in enumerate(sorted(groups)):
        same = list(groups[name].values())
        chosen = Permutation(len(same), seed, rank)(np.arange(round(share * len(same))))
        aside.update(index for group in chosen.tolist() for index in same[group])
    # A label that only occurs in the items set aside could not be learned: these are given back.
    learned = {label for i, item in enumerate(items) if i not in aside for label in item.labels}
    back = {items[i].content for i in aside if learned and not learned.issuperset(items[i].labels)}
    aside = {i for i in aside if items[i].content not in back}
    if not 0 < len(aside) < len(items):
        raise UserError(
            f"data.dev_share={share} leaves no {'training' if aside else 'validation'} text; the "
            f"most frequent label has {counted(max(map(len, groups.values())), 'different text')}: "
            "give more data, another share, or a separate file as data.dev"
        )
    kept = [item for index, item in enumerate(items) if index not in aside]
    return kept, [items[index] for index in sorted(aside)]
