"""The labelled examples of a run: read once, kept in its directory, turned into ids."""

import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from clearhead.data.labelled import Labelled, check_labels, label_set, split_off
from clearhead.data.labelled_batches import NOTHING, Example
from clearhead.errors import UserError
from clearhead.files import atomic_write
from clearhead.text import PretrainedTokenizer
from clearhead.training.run_directory import RunDirectory
from clearhead.training.tuning_recipe import LabelledData

log = logging.getLogger("clearhead.train")

Item = TypeVar("Item", bound=Labelled)
STRANGE = 0.1  # a share of unknown pieces above which a model is hardly the right one


class Examples(NamedTuple, Generic[Item]):
    """What is learned from, what is judged by, and the labels that there are."""

    train: list[Item]
    dev: list[Item]
    labels: list[str]


def read_examples(
    data: LabelledData, seed: int, read: Callable[[str], list[Item]]
) -> Examples[Item]:
    """The recipe's files, or its one file split in two.

    Raises:
        UserError: no file is named, one is not as it should be, or a label that is to be
            judged never occurs in training.
    """
    if not data.train:
        raise UserError(
            "there is nothing to learn from; name a file with labels: --set data.train=FILE"
        )
    train = read(data.train)
    if data.dev:
        dev = read(data.dev)
    else:
        train, dev = split_off(train, data.dev_share, seed)
    labels = label_set(train, data.train)
    check_labels(dev, labels)
    return Examples(train, dev, labels)


def keep_examples(examples: Examples[Any], run: RunDirectory) -> None:
    """Write them into the run directory: a resumption reads none of the original files."""
    for name, items in (("train", examples.train), ("dev", examples.dev)):
        lines = [json.dumps(item._asdict(), ensure_ascii=False) + "\n" for item in items]
        atomic_write(run.data / f"{name}.jsonl", "".join(lines))
    atomic_write(run.data / "labels.json", json.dumps(examples.labels, ensure_ascii=False) + "\n")


def kept_examples(run: RunDirectory, kind: Callable[..., Item]) -> Examples[Item]:
    """Read what `keep_examples` wrote."""
    train, dev = (_kept(run.data / f"{name}.jsonl", kind) for name in ("train", "dev"))
    labels = json.loads((run.data / "labels.json").read_text(encoding="utf-8"))
    return Examples(train, dev, labels)


def _kept(path: Path, kind: Callable[..., Item]) -> list[Item]:
    try:
        # JSON strings hold no line end, but perhaps U+2028, at which splitlines would cut.
        lines = path.read_text(encoding="utf-8").strip("\n").split("\n")
        return [kind(**json.loads(line)) for line in lines]
    except (OSError, ValueError, TypeError) as error:
        raise UserError(f"cannot read {path} ({error}); start a new run") from error


def shortened(examples: Sequence[Example], longest: int) -> list[Example]:
    """Texts of at most so many tokens; the last sign stays the last."""
    cut = [_shortened(example, longest) for example in examples]
    if count := sum(len(example.ids) > longest for example in examples):
        log.warning("%d texts of more than %d tokens are cut there", count, longest)
    return cut


def _shortened(example: Example, longest: int) -> Example:
    ids, segments, targets = (
        part if part is None or len(part) <= longest else [*part[: longest - 1], part[-1]]
        for part in example
    )
    assert ids is not None and targets is not None
    return Example(ids, segments, targets)


def that_count(examples: Sequence[Example]) -> list[Example]:
    """Those with a label that counts: of the others there is nothing to learn.

    Raises:
        UserError: there is none.
    """
    found = [example for example in examples if any(t != NOTHING for t in example.targets)]
    if not found:
        raise UserError("no example has a label that counts; look at data.mask, or give more data")
    return found


def warn_of_strangers(examples: Sequence[Example], tokenizer: PretrainedTokenizer) -> None:
    """Say so if the model does not know many of the pieces."""
    unknown = tokenizer.signs.get("unk")
    pieces = sum(len(example.ids) for example in examples)
    strange = sum(list(example.ids).count(unknown) for example in examples) if unknown else 0
    if strange > STRANGE * pieces:
        log.warning(
            "%.0f %% of all pieces are unknown to this model (%s): is it the right one for "
            "these texts?",
            100 * strange / pieces,
            tokenizer.piece(unknown or 0),
        )
