"""Results as Markdown, ready to stand in a page of results."""

from collections.abc import Iterator

from clearhead.compare.race import Spread, ratio, spread
from clearhead.compare.results import Duel, Heat, Results


def as_markdown(results: Results) -> str:
    """Where, what, every heat with its ratios, and what has to be said besides."""
    return "\n".join(_lines(results)) + "\n"


def _lines(results: Results) -> Iterator[str]:
    yield f"`{results.command}`: {results.setting}\n"
    yield f"Machine: {results.machine}."
    for heat in results.heats:
        yield from _heat_lines(heat)
    if results.remarks:
        yield ""
        yield from (f"- {remark}" for remark in results.remarks)


def _heat_lines(heat: Heat) -> Iterator[str]:
    rounds = len(next(iter(heat.laps.values())))
    yield f"\n### {heat.title}\n"
    yield f"| median of {rounds} rounds (range) | ms | {heat.unit} | |"
    yield "|---|---|---|---|"
    for name, laps in heat.laps.items():
        milliseconds = _range(spread([1e3 * lap.seconds for lap in laps]))
        rate = _range(spread([lap.rate / heat.per for lap in laps]))
        yield f"| {name} | {milliseconds} | {rate} | {heat.notes.get(name, '')} |"
    if heat.duels:
        yield "\n| ratio, round by round | × | bar |"
        yield "|---|---|---|"
        yield from (_duel_line(heat, duel) for duel in heat.duels)


def _duel_line(heat: Heat, duel: Duel) -> str:
    found = ratio(heat.laps[duel.ours], heat.laps[duel.theirs])
    bar = ""
    if duel.bar is not None:
        bar = f"≥ {duel.bar:g}" + (": missed" if found.median < duel.bar else "")
    return f"| {duel.ours} against {duel.theirs} | {_range(found)} | {bar} |"


def _range(found: Spread) -> str:
    return f"{_number(found.median)} ({_number(found.low)} to {_number(found.high)})"


def _number(value: float) -> str:
    """Three digits that mean something, or all of a whole number."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
