"""From what was seen of an answer to a report: checks, then the name of the mistake."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, islice
from typing import Any

from clearhead.errors import UserError
from clearhead.learn.adopt import MOST_WAYS
from clearhead.learn.judge import SLACK, agrees, checks, difference, forms, matrices, relations
from clearhead.learn.manifest import subject, texts
from clearhead.learn.observe import decode_record, explains, known_record, probe_of
from clearhead.learn.records import Record, Sizes
from clearhead.learn.report import Check, Mistake, Report
from clearhead.learn.run import DETERMINISTIC, DRAWN, LAW, TRAINED, UNCHANGED, Adapted, may_adapt

Combination = tuple[str, ...]
Records = list[Record]
Mistakes = tuple[Mistake, ...]

ALMOST = 1e-2  # of the largest element
MOST_PAIRS = 100  # which take up to 4 s; a report must not depend on how busy a machine is


def grade(exercise: str, subject_name: str, result: dict[str, Any]) -> Report:
    """The report on one answer; `result` is what the restricted process sent."""
    if failed := result.get("failed"):
        known = _effect(*[n for n in texts()["effect"] if n == failed.get("effect")])
        return Report(exercise, (), known, str(failed["error"]), int(failed.get("line", 0)))
    cases = probe_of(subject_name).cases
    adapted = frozenset(map(str, result["adapted"]))
    if len(result["orders"]) > 2 * MOST_WAYS or not all(map(may_adapt, adapted)):
        raise ValueError("this is not what a run sends")
    expected = [known_record(i, subject_name, adapted=adapted) for i in range(len(cases))]
    graded = []
    for order in result["orders"]:
        records = [decode_record(record) for record in order]
        graded.append((_checks(subject_name, records, expected), records))
    found, records = max(graded, key=lambda pair: sum(c.passed for c in pair[0]))
    if all(check.passed for check in found):
        return Report(exercise, tuple(found))
    mistakes: Mistakes = ()
    if not any(record.get("type") in texts()["no_mistake"]["errors"] for record in records):
        # A mistake that the checks accept here would explain whatever is close to the solution.
        if not all(agrees(*pair, SLACK) for pair in zip(records, expected, strict=True)):
            mistakes = recognize(subject_name, records, adapted)
        mistakes = mistakes or by_effect(records, expected, list(cases))
    if all("error" in record for record in records):  # the first one is enough
        failures = tuple(Check(check.name, check.passed) for check in found)
        error, line = records[0]["error"], records[0].get("line", 0)
        return Report(exercise, failures, mistakes, error, line)
    return Report(exercise, tuple(found), mistakes, matrices=matrices(records, expected))


def _checks(subject_name: str, records: Records, expected: Records) -> list[Check]:
    """The checks; a prediction is refused without the right value, which is the answer."""
    found = checks(records, expected, list(probe_of(subject_name).cases))
    if subject(subject_name).probe != "values":
        return found
    wrong = [name for name in expected[0] if name in _wrong(records[0], expected[0])]
    return [replace(check, message=f"wrong: {', '.join(wrong)}") for check in found]


def recognize(subject_name: str, records: Records, adapted: Adapted = frozenset()) -> Mistakes:
    """The known mistake, or the two, that explain every record; none if no combination does."""
    known = subject(subject_name)
    tried = len(known.variants) + MOST_PAIRS
    for names in islice(_candidates(subject_name, records[0], adapted), tried):
        if _explains(names, subject_name, records, adapted):
            return tuple(
                Mistake(v.same_as or v.name, v.diagnosis, v.lesson or known.lesson)
                for v in map(known.variant, names)
            )
    return ()


def _explains(names: Combination, subject_name: str, records: Records, adapted: Adapted) -> bool:
    try:
        return all(explains(i, subject_name, names, r, adapted) for i, r in enumerate(records))
    except UserError:  # two edits of one expression
        return False


def _candidates(subject_name: str, record: Record, adapted: Adapted) -> Iterator[Combination]:
    """Every variant, then the pairs whose first result can be that of the answer.

    A variant that leaves the first result as it is (it concerns masks, or dropout) leaves the
    result of the other one. The pairs that should change what the answer changes come first.
    """
    variants = subject(subject_name).variants
    names = [variant.name for variant in variants]
    if raw := record.get("raw"):  # the same message is better than the same type of error
        known = {n: known_record(0, subject_name, n, adapted=adapted).get("raw") for n in names}
        names.sort(key=lambda name: known[name] != raw)
    yield from ((name,) for name in names)
    right = known_record(0, subject_name, adapted=adapted)
    first = next((key for key in right if key in record and not key.startswith(LAW)), "")
    apart = [v.name for v in variants if not v.same_as]
    seen = {name: known_record(0, subject_name, name, adapted=adapted) for name in apart}
    fitting = {n for n in apart if not difference(record.get(first), seen[n].get(first), {}, SLACK)}
    wrong, wanted = {n: _wrong(seen[n], right, SLACK) for n in apart}, _wrong(record, right, SLACK)
    if "error" in record and not first:
        return  # that two together raise it is an accident
    pairs, error = [], record.get("type")
    for pair in combinations(apart, 2):
        if error and all(seen[name].get("type") != error for name in pair):
            continue  # only together do the two raise it: an accident
        left = [name for name in pair if first in wrong[name]]
        if len(left) == len(pair) or fitting.intersection(left or pair):
            pairs.append(pair)
    yield from sorted(pairs, key=lambda pair: len(wanted ^ (wrong[pair[0]] | wrong[pair[1]])))


def _wrong(record: Record, right: Record, slack: float = 0.0) -> set[str]:
    """What differs from the reference."""
    return {k for k, value in right.items() if not agrees({k: record.get(k)}, {k: value}, slack)}


def by_effect(records: Records, expected: Records, cases: list[Sizes]) -> Mistakes:
    """A mistake of any exercise, recognized by its effect: a cut gradient, a fixed size …"""
    return _effect(*list(_effects(records, expected, cases))[:1])


def _effect(*names: str) -> Mistakes:
    return tuple(Mistake(n, " ".join(texts()["effect"][n].split())) for n in names)


def _effects(records: Records, expected: Records, cases: list[Sizes]) -> Iterator[str]:
    wrong = [_wrong(seen, right) for seen, right in zip(records, expected, strict=True)]
    every = set().union(*wrong)
    failed = any("error" in record for record in records)
    yield from of_errors(records)
    far = set().union(*(_wrong(*pair, ALMOST) for pair in zip(records, expected, strict=True)))
    if not failed and _values(every) and not _values(far):
        yield "almost-right"
    for law, name in ((DETERMINISTIC, "random-in-evaluation"), (DRAWN, "drawn-at-random")):
        if any(record.get(law, True) is not True for record in records):
            yield name
    if every and not failed and all(k.startswith(("gradient of ", LAW + TRAINED)) for k in every):
        yield "gradient-cut"
    if UNCHANGED in every and not _outputs(every):
        yield "input-changed-in-place"
    yield from _of_sizes(records, expected, wrong, cases)
    triples = zip(records, expected, wrong, strict=True)
    related = [relations(a.get(k), e.get(k)) for a, e, keys in triples for k in _outputs(keys)]
    yield from set.intersection(*related) if related and not failed else ()
    if UNCHANGED in every:
        yield "input-changed-in-place"


def _of_sizes(
    records: Records, expected: Records, wrong: list[set[str]], cases: list[Sizes]
) -> Iterator[str]:
    """What is wrong for some sizes only; without a batch axis a result has another shape."""
    bad = [i for i, keys in enumerate(wrong) if keys]
    shaped = all(forms(records[i].get(k)) == forms(expected[i][k]) for i in bad for k in wrong[i])
    if {cases[i].get("batch") for i in bad} == {1} and not shaped:
        yield "batch-of-one"
    elif len(bad) < len(cases) and any("error" in record for record in records):
        yield "size-fixed"


def _values(keys: set[str]) -> list[str]:
    return [key for key in keys if not key.startswith(LAW)]


def _outputs(keys: set[str]) -> list[str]:
    return [key for key in _values(keys) if not key.startswith("gradient of ")]


def of_errors(records: Records) -> Iterator[str]:
    """The mistakes that the text of an error names."""
    errors = [str(record.get("raw")) for record in records]
    if any("inplace operation" in error for error in errors):
        changed = any(record.get(UNCHANGED) is False for record in records)
        yield "input-changed-in-place" if changed else "needed-value-changed-in-place"
    if any(re.search("cuda|nvidia|same device", error, re.IGNORECASE) for error in errors):
        yield "device-fixed"
