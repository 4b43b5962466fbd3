"""Comparing what was seen of an answer with what was seen of the reference."""

from collections.abc import Iterator
from typing import Any

import torch

from clearhead.learn.records import Record, Sizes, Typed, close, is_number
from clearhead.learn.report import Check
from clearhead.learn.run import LAW, flat

SLACK = 5e-4  # of the largest element: a mistake may amplify the rounding of float32
ERROR_KEYS = ("error", "type", "line", "raw")


def agrees(actual: Record, expected: Record, slack: float = 0.0) -> bool:
    """Whether two records of one case are the same up to rounding.

    Two errors are the same if they have the same type and follow the same results; their
    messages count only if there were no results before, or if the library's own checks raised
    both: their type is always the same.
    """
    failed = "error" in actual or "error" in expected
    if failed and actual.get("type") != expected.get("type"):
        return False
    seen = [key for key in expected if key not in ERROR_KEYS]
    own = actual.get("type") == "UserError" or all(key.startswith(LAW) for key in seen)
    if failed and own and actual["raw"] != expected["raw"]:
        return False
    return all(_agrees(key, actual.get(key), expected[key], slack) for key in seen)


def resembles(actual: Record, expected: Record, right: Record) -> bool:
    """Whether an answer's record is that of a known mistake.

    Hidden scores of minus infinity, or of -1e9, turn many a mistake into NaN or into huge
    numbers. Where these are not the same ones, nothing is known, and the rest decides; if the
    rest is right, it shows no mistake.
    """
    unknown = [k for k in actual if _is_unknown(actual[k], expected.get(k))]
    known = [k for k in expected if k not in (*unknown, *ERROR_KEYS) and not k.startswith(LAW)]
    outputs = [k for k in known if not k.startswith("gradient of ")]
    alike = bool(unknown and outputs) and actual.get("type") == expected.get("type")
    alike = alike and all(_agrees(k, actual.get(k), expected[k], SLACK) for k in known)
    alike = alike and not all(_agrees(k, actual.get(k), right.get(k), SLACK) for k in known)
    return alike or agrees(actual, expected, SLACK)


def _is_unknown(actual: Any, expected: Any) -> bool:
    """Whether only the form of a result can be compared; NaN of the mistake itself is known."""
    blurred = any(t.is_blurred for t in flat_tensors(actual))
    own = any(t.tensor.isnan().any() for t in flat_tensors(expected))
    return blurred and not own and forms(actual) == forms(expected)


def flat_tensors(value: Any) -> list[Typed]:
    """The tensors of a recorded value."""
    return [part for part in flat(value) if isinstance(part, Typed)]


def forms(value: Any) -> list[tuple[Any, str]]:
    """Shape and kind of each tensor of a value."""
    return [(t.tensor.shape, t.kind) for t in flat_tensors(value)]


def _agrees(key: str, actual: Any, expected: Any, slack: float) -> bool:
    if key.startswith(LAW):  # a law may be unchecked; what was found instead holds rounded numbers
        return actual is None or (actual is True) == (expected is True)
    return not difference(actual, expected, {}, slack)


def checks(actual: list[Record], expected: list[Record], cases: list[Sizes]) -> list[Check]:
    """The laws, then one comparison for each case."""
    return [*_laws(actual, expected), *_values(actual, expected, cases)]


def _laws(actual: list[Record], expected: list[Record]) -> Iterator[Check]:
    names = dict.fromkeys(k for record in expected for k in record if k.startswith(LAW))
    for name in names:
        found = [record[name] for record in actual if name in record]
        if found:  # else an error ended every case before
            wrong = [value for value in found if value is not True]
            detail = next((v for v in wrong if isinstance(v, str)), "")
            yield Check(name.removeprefix(LAW), not wrong, detail)


def _values(actual: list[Record], expected: list[Record], cases: list[Sizes]) -> Iterator[Check]:
    for mine, theirs, sizes in zip(actual, expected, cases, strict=True):
        name = ", ".join(f"{key}={value}" for key, value in sizes.items()) or "values"
        if "error" in mine:
            where = f"line {mine['line']}: " if mine.get("line") else ""
            yield Check(name, False, where + mine["error"])
            continue
        pairs = ((k, mine.get(k), value) for k, value in theirs.items() if not k.startswith(LAW))
        wrong = [f"{k}: {text}" for k, a, e in pairs if (text := difference(a, e, sizes))]
        yield Check(name, not wrong, wrong[0] if wrong else "")


def difference(actual: Any, expected: Any, sizes: Sizes, slack: float = 0.0) -> str:
    """What differs, shape and dtype before values; empty if nothing does."""
    if isinstance(expected, tuple):
        if not isinstance(actual, tuple) or len(actual) != len(expected):
            if not any(isinstance(v, Typed) for v in expected):
                return f"expected {_short(expected)}, got {_short(actual)}"
            return f"expected {len(expected)} values, got {_kind(actual)}"
        part = "returned value" if any(isinstance(v, Typed) for v in expected) else "element"
        for i, (a, e) in enumerate(zip(actual, expected, strict=True), start=1):
            if text := difference(a, e, sizes, slack):
                return text if len(expected) == 1 else f"{part} {i}: {text}"
        return ""
    if isinstance(expected, Typed):
        return _tensors(actual, expected, sizes, slack)
    if is_number(expected):
        counted = isinstance(expected, int)  # a count is right or wrong
        same = is_number(actual) and (actual == expected if counted else close(actual, expected))
    else:
        same = type(actual) is type(expected) and actual == expected
    return "" if same else f"expected {_short(expected)}, got {_short(actual)}"


def _tensors(actual: Any, expected: Typed, sizes: Sizes, slack: float) -> str:
    if not isinstance(actual, Typed):
        return f"expected a tensor of shape {_shape(expected, sizes)}, got {_kind(actual)}"
    if actual.tensor.shape != expected.tensor.shape:
        return f"expected shape {_shape(expected, sizes)}, got {tuple(actual.tensor.shape)}"
    if actual.kind != expected.kind:
        return f"expected dtype {expected.dtype}, got {actual.dtype}; the shape is right"
    a, e = actual.tensor.double(), expected.tensor.double()
    wrong = (a - e).abs() > 1e-5 + 1e-4 * e.abs()
    if slack and e.numel():
        wrong = (a - e).abs() > slack * e.abs().nan_to_num(0.0).max().clamp(min=1.0)
    wrong = (wrong | ~(a - e).isfinite()) & (a != e) & ~(a.isnan() & e.isnan())
    if not wrong.any():
        return ""
    return _largest(actual.tensor, expected.tensor, sizes, int(wrong.sum())) + _relation(a, e)


def _largest(a: Any, e: Any, sizes: Sizes, share: int) -> str:
    if not e.dim():
        return f"expected {_element(e)}, got {_element(a)}; shape and dtype are right"
    gap = (a.double() - e.double()).abs().nan_to_num(nan=float("inf"))
    place = tuple(map(int, torch.unravel_index(gap.argmax(), gap.shape)))
    names = _names(e.shape, sizes)
    where = ", ".join(f"{n} {i}".strip() for n, i in zip(names, place, strict=True))
    size = "" if e.dtype is torch.bool else f"largest difference {float(gap[place]):.3g} "
    return (
        f"{size}at [{where}]: expected {_element(e[place])}, got {_element(a[place])} "
        f"({share} of {e.numel()} elements differ; shape and dtype are right)"
    )


def _element(tensor: Any) -> str:
    return str(bool(tensor)) if tensor.dtype is torch.bool else f"{float(tensor):.4g}"


def _relation(a: Any, e: Any) -> str:
    """A constant factor, or a transposed matrix, says more than a difference."""
    if factor := constant_factor(a, e):
        return f"; every element is {factor:.3g} times the expected one"
    if e.dim() > 1 and _same(a.mT, e):
        return "; it is the expected matrix transposed"
    return ""


def constant_factor(a: Any, e: Any) -> float:
    """The factor between two tensors of one shape; 0 if it is not the same for all elements.

    A factor close to 1 explains nothing, and where 0 is expected every factor gives 0.
    """
    big = e.abs() > 1e-3
    if big.sum() <= 3:
        return 0.0
    middle = float((a[big] / e[big]).median())
    same = bool(((a - middle * e).abs() <= 1e-3 * (middle * e).abs() + 1e-5).all())
    return middle if same and abs(middle) > 1e-6 and abs(middle - 1) > 1e-2 else 0.0


def relations(actual: Any, expected: Any) -> set[str]:
    """What a wrong value has in common with the expected one, by the names of texts.toml."""
    if actual is None:
        return {"nothing-returned"}
    if isinstance(expected, tuple):
        return _of_lists(actual, expected) if isinstance(actual, tuple) else set()
    if isinstance(expected, Typed) and isinstance(actual, tuple):
        right = any(not difference(part, expected, {}) for part in actual)
        return {"more-than-the-result"} if right else set()
    if isinstance(expected, Typed) and isinstance(actual, Typed):
        return set(_of_tensors(actual, expected))
    return {"number-instead-of-tensor"} if isinstance(expected, Typed) else set()


def _of_lists(actual: tuple[Any, ...], expected: tuple[Any, ...]) -> set[str]:
    if any(isinstance(value, Typed) for value in expected):
        parts = zip(actual, expected, strict=False)
        wrong = [relations(a, e) for a, e in parts if difference(a, e, {})]
        return set.intersection(*wrong) if wrong and len(actual) == len(expected) else set()
    if actual == expected[: len(actual)]:
        return {"ends-too-early"}
    if actual[: len(expected)] == expected:
        return {"ends-too-late"}
    return {"other-order"} if sorted(map(str, actual)) == sorted(map(str, expected)) else set()


def _of_tensors(actual: Typed, expected: Typed) -> Iterator[str]:
    a, e = actual.tensor.double(), expected.tensor.double()
    if actual.kind != expected.kind and _same(a, e):
        yield "other-dtype"
    elif actual.kind != expected.kind:
        return
    elif e.dim() > 1 and _same(a, e.mT):
        yield "transposed"
    elif a.shape == e.shape and constant_factor(a, e):
        yield "constant-factor"
    elif expected.kind != "bool" and _same_elements(a, e):
        yield "other-order"


def _same_elements(a: Any, e: Any) -> bool:
    """Whether two tensors differ only in the order of their axes and elements."""
    same = _same(a.flatten().sort()[0], e.flatten().sort()[0])
    return same and sorted(a.shape) == sorted(e.shape)


def _same(a: Any, e: Any) -> bool:
    return a.shape == e.shape and bool(((a - e).abs() < 1e-4).all())


def _names(shape: Any, sizes: Sizes) -> list[str]:
    by_size = {size: name for name, size in reversed(list(sizes.items())) if size > 1}
    first = "batch" if len(shape) and shape[0] == 1 else ""
    return [by_size.get(size, "" if i else first) for i, size in enumerate(shape)]


def _shape(value: Typed, sizes: Sizes) -> str:
    names = _names(value.tensor.shape, sizes)
    parts = [f"{n} {s}".strip() for n, s in zip(names, value.tensor.shape, strict=True)]
    return f"({', '.join(parts)})"


def _kind(value: Any) -> str:
    if isinstance(value, Typed):
        return f"a tensor of shape {tuple(value.tensor.shape)}"
    if isinstance(value, tuple):
        return f"{len(value)} values"
    return "nothing" if value is None else _short(value)


def _short(value: Any) -> str:
    if isinstance(value, Typed):
        return _kind(value)
    text = repr(list(value) if isinstance(value, tuple) and len(value) == 1 else value)
    return text if len(text) <= 120 else text[:117] + "..."


def matrices(records: list[Record], expected: list[Record]) -> tuple[list[list[float]], ...]:
    """Expected and actual values of the first wrong tensor, as two matrices."""
    for mine, theirs in zip(records, expected, strict=True):
        for key, right in theirs.items():
            for a, e in zip(flat_tensors(mine.get(key)), flat_tensors(right), strict=False):
                if a.tensor.shape == e.tensor.shape and e.tensor.dim() >= 2 and a != e:
                    return _matrix(e.tensor), _matrix(a.tensor)
    return ()


def _matrix(tensor: Any) -> list[list[float]]:
    while tensor.dim() > 2:
        tensor = tensor[0]
    return list(tensor[:16, :16].tolist())
