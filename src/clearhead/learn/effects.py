"""Mistakes of any exercise, recognised by their effect: a cut gradient, a hard-coded size …"""

from collections.abc import Iterator, Mapping
from typing import Any

from clearhead.learn.judge import agrees
from clearhead.learn.records import Record, Typed
from clearhead.learn.report import Mistake
from clearhead.learn.run import DETERMINISTIC, LAW, TRAINED, UNCHANGED

Sizes = Mapping[str, int]

GRADIENT_CUT = Mistake(
    "gradient-cut",
    "The outputs are right, but the gradient is not: detach(), .data, .item(), no_grad() or a new "
    "tensor made from numbers stops it, so what comes before is not trained.",
)
CHANGED_IN_PLACE = Mistake(
    "input-changed-in-place",
    "The input itself is changed (x += …, a function ending in _, or an assignment to a part of "
    "it); the caller still needs it. Make a new tensor.",
)
RANDOM = Mistake(
    "random-in-evaluation",
    "Two calls in evaluation mode differ: dropout stays active. nn.Dropout follows eval(); "
    "F.dropout needs training=self.training.",
)
BATCH_OF_ONE = Mistake(
    "batch-of-one",
    "Only a batch of one sentence fails: squeeze() without an axis, or an index [0], removes the "
    "batch axis as well.",
)
SIZE_FIXED = Mistake(
    "size-fixed",
    "It works for some sizes only: a size is written as a number, or taken from the wrong axis "
    "(shape[0] is the batch, shape[1] the sequence).",
)
TRANSPOSED = Mistake(
    "transposed",
    "The result is the expected one with its last two axes swapped: a transpose is missing, or "
    "there is one too many.",
)


def by_effect(
    records: list[Record], expected: list[Record], cases: list[Sizes]
) -> tuple[Mistake, ...]:
    """The first of these mistakes that explains the difference; none if none does."""
    return tuple(_found(records, expected, cases))[:1]


def _found(records: list[Record], expected: list[Record], cases: list[Sizes]) -> Iterator[Mistake]:
    wrong = [
        {key for key, value in right.items() if not agrees({key: seen.get(key)}, {key: value})}
        for seen, right in zip(records, expected, strict=True)
    ]
    every = set().union(*wrong)
    failed = any("error" in record for record in records)
    if any("inplace operation" in str(record.get("raw")) for record in records):
        yield CHANGED_IN_PLACE
    if any(record.get(DETERMINISTIC, True) is not True for record in records):
        yield RANDOM
    if (
        every
        and not failed
        and all(key.startswith(("gradient of ", LAW + TRAINED)) for key in every)
    ):
        yield GRADIENT_CUT
    if UNCHANGED in every and all(key.startswith(("gradient of ", LAW)) for key in every):
        yield CHANGED_IN_PLACE
    batches = [sizes.get("batch") for sizes in cases]
    if 1 in batches and {b for b, keys in zip(batches, wrong, strict=True) if keys} == {1}:
        yield BATCH_OF_ONE
    elif failed and any(not keys for keys in wrong):
        yield SIZE_FIXED
    if not failed and _transposed(records, expected, every):
        yield TRANSPOSED


def _transposed(records: list[Record], expected: list[Record], wrong: set[str]) -> bool:
    """Whether every wrong output is the expected one transposed."""
    keys = [k for k in wrong if not k.startswith(("gradient of ", LAW))]
    pairs = [
        (seen.get(k), right.get(k))
        for seen, right in zip(records, expected, strict=True)
        for k in keys
    ]
    return bool(pairs) and all(_is_transpose(a, e) for a, e in pairs)


def _is_transpose(actual: Any, expected: Any) -> bool:
    if not isinstance(actual, Typed) or not isinstance(expected, Typed):
        return False
    a, e = actual.tensor, expected.tensor
    return (
        e.dim() > 1
        and a.shape == e.mT.shape
        and bool(((a.double() - e.double().mT).abs() < 1e-4).all())
    )
