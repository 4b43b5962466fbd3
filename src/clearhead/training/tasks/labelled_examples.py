"""The labelled examples of a run (read once, copied into its directory), and predictions."""

import logging
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from clearhead.blocks import padding_mask
from clearhead.data.labelled import Labelled, check_labels, label_set, split_off
from clearhead.data.labelled_batches import NOTHING, Example, LabelledBatch, pad
from clearhead.data.ordering import sorted_batches
from clearhead.decoding.readable import in_eval_mode
from clearhead.errors import UserError
from clearhead.pretrained.new_heads import Answer
from clearhead.text import PretrainedTokenizer
from clearhead.text.fast_tokenizer import kept_of_pair
from clearhead.training.finetuning_recipe import LabelledData
from clearhead.training.run_directory import RunDirectory, read_items, text_of, write_items

log = logging.getLogger("clearhead.train")

Item = TypeVar("Item", bound=Labelled)
Ints = NDArray[np.int64]
BATCH_TOKENS = 8192  # of a prediction
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
    ids, segments, targets = example
    if (last := len(ids) - 1) < longest:
        return example
    kept = [*range(longest - 1), last]
    if segments is not None and 1 in segments:
        kept = kept_of_pair(segments, longest)
    return Example(
        [ids[i] for i in kept],
        segments and [segments[i] for i in kept],
        targets if len(targets) == 1 else [targets[i] for i in kept],
    )


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
    count = 0 if unknown is None else sum(list(e.ids).count(unknown) for e in examples)
    if count > MOST_UNKNOWN * total:
        log.warning(
            "%.0f %% of all tokens are unknown to this model (%s); give another model",
            100 * count / total,
            tokenizer.piece(unknown or 0),
        )


def head_scores(model: Any, head: Answer, batch: LabelledBatch) -> Tensor:
    """The scores of all labels: (batch, labels), or (batch, seq_len, labels)."""
    device = next(model.parameters()).device
    ids = torch.from_numpy(batch.ids).to(device)
    mask = padding_mask(ids, model.config.pad_id)
    if batch.segments is None:
        hidden = model(ids, mask)
    else:
        hidden = model(ids, mask, torch.from_numpy(batch.segments).to(device))
    return model.heads[head](hidden)


def label_loss(scores: Tensor, labels: Tensor, weights: Tensor | None, smoothing: float) -> Tensor:
    """Summed smoothed cross-entropy, each example weighted by its label.

    torch would weigh the labels over which probability is spread, too: a rare one would get most.

    Shape:
        scores: (examples, labels), labels: (examples,), weights: (labels,) -> scalar
    """
    if weights is None or not smoothing:
        return F.cross_entropy(
            scores, labels, weights, ignore_index=NOTHING, reduction="sum",
            label_smoothing=smoothing,
        )  # fmt: skip
    each = F.cross_entropy(
        scores, labels, ignore_index=NOTHING, reduction="none", label_smoothing=smoothing
    )
    return (each * weights[labels.clamp(min=0)]).sum()


@torch.inference_mode()
def predict(model: Any, head: Answer, examples: Sequence[Example]) -> tuple[list[Ints], float]:
    """The predicted label index of every target of each example, and the mean loss.

    The loss is in nats per target that counts. The model's mode and the random states stay as
    they were.
    """
    predicted: list[Ints] = [np.zeros(0, dtype=np.int64)] * len(examples)
    total, counted = 0.0, 0
    with in_eval_mode(model):
        lengths = np.array([len(example.ids) for example in examples])
        for rows in sorted_batches(lengths, BATCH_TOKENS):
            batch = pad([examples[i] for i in rows.tolist()], model.config.pad_id)
            scores = head_scores(model, head, batch).float().cpu()
            targets = torch.from_numpy(batch.targets)
            flat = scores.flatten(0, -2), targets.flatten()
            total += float(F.cross_entropy(*flat, ignore_index=NOTHING, reduction="sum"))
            counted += int((targets != NOTHING).sum())
            best = scores.argmax(-1).numpy()
            for i, row in zip(rows.tolist(), best, strict=True):
                predicted[i] = np.atleast_1d(row)[: len(examples[i].targets)]
    return predicted, total / max(1, counted)


def counted_pairs(examples: Sequence[Example], predicted: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Truth and prediction of every label that counts, all examples concatenated."""
    truth = np.concatenate([np.array(example.targets, dtype=np.int64) for example in examples])
    flat = np.concatenate(list(predicted))
    counts = truth != NOTHING
    return truth[counts], flat[counts]


def wrong_examples(examples: Sequence[Example], predicted: Sequence[Ints]) -> list[int]:
    """The indices of the examples with a wrong prediction."""
    wrong = []
    for index, (example, found) in enumerate(zip(examples, predicted, strict=True)):
        targets = np.array(example.targets)
        if ((targets != found) & (targets != NOTHING)).any():
            wrong.append(index)
    return wrong
