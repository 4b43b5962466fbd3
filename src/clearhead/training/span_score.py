"""Names and other spans told by B-, I- and O labels: right only from end to end, type included."""

from collections.abc import Iterable, Sequence

Span = tuple[str, int, int]  # type, first word, behind the last
OUTSIDE = "O"


def are_span_labels(labels: Sequence[str]) -> bool:
    """Whether labels are O and B-TYPE or I-TYPE, as CoNLL writes them."""
    others = [label for label in labels if label != OUTSIDE]
    return any(label.startswith("B-") for label in others) and all(
        label[:2] in ("B-", "I-") and len(label) > 2 for label in others
    )


def spans(labels: Sequence[str | None]) -> list[Span]:
    """The spans of one sentence, as the CoNLL script reads them.

    A span begins at B-, and at an I- that continues none of its type; a label that does not
    count (None) ends it.
    """
    found: list[Span] = []
    kind, start = "", 0
    for place, label in enumerate([*labels, OUTSIDE]):
        begins, _, named = (label or OUTSIDE).partition("-")
        goes_on = begins == "I" and named == kind
        if kind and not goes_on:
            found.append((kind, start, place))
            kind = ""
        if begins in ("B", "I") and not goes_on:
            kind, start = named, place
    return found


def span_f1(truth: Iterable[Sequence[str | None]], said: Iterable[Sequence[str | None]]) -> float:
    """The F1 of whole spans over all sentences, 2 · right / (true + said)."""
    right = total = 0
    for one, other in zip(truth, said, strict=True):
        true, found = spans(one), spans(other)
        right += len(set(true) & set(found))
        total += len(true) + len(found)
    return 2 * right / total if total else 0.0
