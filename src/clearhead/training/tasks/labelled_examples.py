"""The labelled examples of a run: read once, copied into its directory, cut to its length."""

import logging
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from clearhead.data.labelled import Labelled, check_labels, label_set, split_off
from clearhead.data.labelled_batches import NOTHING, Example
from clearhead.errors import UserError
from clearhead.text import PretrainedTokenizer
from clearhead.training.finetuning_recipe import LabelledData
from clearhead.training.run_directory import RunDirectory, read_items, text_of, write_items

log = logging.getLogger("clearhead.train")

Item = TypeVar("Item", bound=Labelled)
MOST_UNKNOWN = 0.1  # fraction of unknown tokens above which a model hardly suits the texts


class Examples(NamedTuple, Generic[Item]):
    """The examples for training and for validation, and the set of labels."""

    train: list[Item]
    dev: list[Item]
    labels: list[str]


def read_examples(
    data: LabelledData, seed: int, read: Callable[[str], list[Item]]
) -> Examples[Item]:
    """The recipe's files, or its one file split in two.

    Raises:
        UserError: no file is named, one is malformed, or a label of the validation examples
            never occurs in training.
    """
    if not data.train:
        raise UserError("there is no training data; name a file with labels: --set data.train=FILE")
    train = read(data.train)
    if data.dev:
        dev = read(data.dev)
    else:
        train, dev = split_off(train, data.dev_share, seed)
    labels = label_set(train, data.train)
    check_labels(dev, labels)
    return Examples(train, dev, labels)


def save_examples(examples: Examples[Any], run: RunDirectory) -> None:
    """Copy them into the run directory: a resumption reads none of the original files."""
    for name, items in (("train", examples.train), ("dev", examples.dev)):
        write_items(run.data / f"{name}.jsonl", (item._asdict() for item in items))
    write_items(run.data / "labels.json", [examples.labels])


def load_examples(run: RunDirectory, kind: Callable[..., Item]) -> Examples[Item]:
    """Read what `save_examples` wrote."""
    train, dev = (
        read_items(run.data / f"{name}.jsonl", lambda values: kind(**values))
        for name in ("train", "dev")
    )
    [labels] = read_items(run.data / "labels.json", lambda values: [*map(text_of, values)])
    return Examples(train, dev, labels)


def shortened(examples: Sequence[Example], longest: int) -> list[Example]:
    """Cut texts to `longest` tokens; the last token, a special one, stays the last."""
    cut = [_shortened(example, longest) for example in examples]
    if count := sum(len(example.ids) > longest for example in examples):
        log.warning("%d texts are longer than %d tokens and are cut to that length", count, longest)
    return cut


def _shortened(example: Example, longest: int) -> Example:
    ids, segments, targets = (
        part if part is None or len(part) <= longest else [*part[: longest - 1], part[-1]]
        for part in example
    )
    assert ids is not None and targets is not None
    return Example(ids, segments, targets)


def with_targets(examples: Sequence[Example]) -> list[Example]:
    """The examples with at least one label that counts.

    Raises:
        UserError: there is none.
    """
    found = [example for example in examples if any(t != NOTHING for t in example.targets)]
    if not found:
        raise UserError("no example has a counted label; correct data.mask, or give more data")
    return found


def warn_of_unknown_tokens(examples: Sequence[Example], tokenizer: PretrainedTokenizer) -> None:
    """Warn if more than a tenth of the tokens are unknown to the model."""
    unknown = tokenizer.special_ids.get("unk")
    total = sum(len(example.ids) for example in examples)
    count = sum(list(example.ids).count(unknown) for example in examples) if unknown else 0
    if count > MOST_UNKNOWN * total:
        log.warning(
            "%.0f %% of all tokens are unknown to this model (%s); give another model",
            100 * count / total,
            tokenizer.piece(unknown or 0),
        )
