"""Benchmark results: all measurements with their machine, as JSON and as Markdown tables.

The JSON keeps every single measurement, so that tables can be made from it later and elsewhere.
"""

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from clearhead.compare.timing import Machine, Measurement, Measurements, Summary, ratio, summarize
from clearhead.errors import UserError, counted
from clearhead.files import atomic_write

FORMAT_VERSION = 2
# Keys of format version 1.
_RENAMED = {
    "heats": "benchmarks",
    "laps": "measurements",
    "duels": "comparisons",
    "bar": "target",
    "per": "scale",
}


# What reading and showing a file of something else raises (a RecursionError is a RuntimeError).
_WRONG = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


@dataclass(frozen=True)
class Comparison:
    """Two candidates of a benchmark; `target` is the ratio of rates that we want to reach."""

    ours: str
    theirs: str
    target: float | None = None


def distinct(comparisons: Iterable[Comparison]) -> list[Comparison]:
    """Each pair of names once, with its highest target; a candidate is not compared with itself."""
    targets: dict[tuple[str, str], float | None] = {}
    for comparison in comparisons:
        pair = comparison.ours, comparison.theirs
        if comparison.ours != comparison.theirs:
            targets[pair] = max(targets.get(pair) or 0, comparison.target or 0) or None
    return [Comparison(*pair, target) for pair, target in targets.items()]


@dataclass(frozen=True)
class Benchmark:
    """Candidates that did the same work, counted in `unit` per second, divided by `scale`."""

    title: str
    unit: str
    measurements: Measurements
    comparisons: list[Comparison] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)  # a remark on a candidate
    scale: float = 1.0


@dataclass(frozen=True)
class Results:
    """The output of one `clearhead bench` command."""

    command: str
    setting: str
    machine: Machine
    benchmarks: list[Benchmark]
    remarks: list[str] = field(default_factory=list)


def write_json(results: Results, path: Path) -> None:
    """Save the results without loss."""
    atomic_write(path, as_json(FORMAT_VERSION, dataclasses.asdict(results)))


def as_json(version: int, content: Mapping[str, Any]) -> str:
    """The text of a file of results: the version of its format, then its content."""
    record = {"format_version": version, **content}
    return json.dumps(record, indent=1, ensure_ascii=False) + "\n"


def read_json(path: Path) -> Results:
    """Read a file written by `write_json`, also one of format version 1.

    Raises:
        UserError: the file is missing or holds something else.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"), object_hook=_with_current_keys)
        results = Results(
            record["command"],
            record["setting"],
            Machine(**record["machine"]),
            [_benchmark(benchmark) for benchmark in record["benchmarks"]],
            record["remarks"],
        )
        as_markdown(results)  # values that no table can show are found here
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; give a file of --json") from error
    except _WRONG as error:
        raise UserError(
            f"{path} holds no benchmark results ({error!r}); "
            "give a file that `clearhead bench … --json FILE` wrote"
        ) from error
    return results


def _with_current_keys(record: dict[str, Any]) -> dict[str, Any]:
    return {_RENAMED.get(key, key): value for key, value in record.items()}


def _benchmark(record: dict[str, Any]) -> Benchmark:
    own = record.pop("measurements")
    comparisons = [Comparison(**comparison) for comparison in record.pop("comparisons")]
    measurements = {name: [Measurement(*one) for one in rounds] for name, rounds in own.items()}
    return Benchmark(measurements=measurements, comparisons=comparisons, **record)


def as_markdown(results: Results) -> str:
    """Command, machine, one table per benchmark with its ratios, and the remarks."""
    return "\n".join(_lines(results)) + "\n"


def _lines(results: Results) -> Iterator[str]:
    yield f"`{results.command}`: {results.setting}\n"
    yield f"Machine: {results.machine}."
    for benchmark in results.benchmarks:
        yield from _benchmark_lines(benchmark)
    if results.remarks:
        yield ""
        yield from (f"- {remark}" for remark in results.remarks)


def _benchmark_lines(benchmark: Benchmark) -> Iterator[str]:
    rounds = len(next(iter(benchmark.measurements.values())))
    yield f"\n### {benchmark.title}\n"
    yield f"| median of {counted(rounds, 'round')} (range) | ms | {benchmark.unit} | |"
    yield "|---|---|---|---|"
    for name, own in benchmark.measurements.items():
        milliseconds = _with_range(summarize([1e3 * one.seconds for one in own]))
        rate = _with_range(summarize([one.rate / benchmark.scale for one in own]))
        yield f"| {name} | {milliseconds} | {rate} | {benchmark.notes.get(name, '')} |"
    if benchmark.comparisons:
        yield "\n| ratio, round by round | × | target |"
        yield "|---|---|---|"
        yield from (_comparison_line(benchmark, one) for one in benchmark.comparisons)


def _comparison_line(benchmark: Benchmark, comparison: Comparison) -> str:
    own = benchmark.measurements
    found = ratio(own[comparison.ours], own[comparison.theirs])
    target = ""
    if comparison.target is not None:
        missed = ": missed" if found.median < comparison.target else ""
        target = f"≥ {comparison.target:g}{missed}"
    return f"| {comparison.ours} against {comparison.theirs} | {_with_range(found)} | {target} |"


def _with_range(found: Summary) -> str:
    median, low, high = map(format_number, found)
    return f"{median} ({low} to {high})"


def format_number(value: float) -> str:
    """Three significant digits, all digits of large integers, a power of ten below 0.001."""
    if not value:
        return "0"
    if abs(value) < 1e-3:
        return f"{value:.0e}"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.{1 if abs(value) >= 10 else 2}f}" if abs(value) >= 0.1 else f"{value:.2g}"


def markdown_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], align: Literal["left", "right"] = "right"
) -> Iterator[str]:
    """The lines of a Markdown table; `align` applies to all columns but the first."""
    yield f"| {' | '.join(head)} |"
    yield "|---|" + ("--:|" if align == "right" else "---|") * (len(head) - 1)
    yield from (f"| {' | '.join(row)} |" for row in rows)
