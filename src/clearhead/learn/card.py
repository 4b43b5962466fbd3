"""A report as an HTML card: checks, the mistake's name, expected and actual values.

No script, no network; both themes through CSS variables of the design language.
"""

from html import escape

from clearhead.learn.report import Report

STYLE = """
.ch-card{--surface:#fff;--text:#1a1e24;--muted:#5a636e;--line:#e2e4e8;--accent:#2456c9;
--good:#1a7f4b;--bad:#b3361f;background:var(--surface);color:var(--text);border:1px solid
var(--line);border-radius:10px;padding:12px 16px;font:15px/1.5 system-ui;max-width:720px}
@media (prefers-color-scheme:dark){.ch-card{--surface:#1a1f26;--text:#e7eaee;--muted:#9aa4b0;
--line:#2b323b;--accent:#8db0ff;--good:#5fd08f;--bad:#ff8f78}}
.ch-card h4{margin:0 0 8px;font-size:15px}.ch-card .good{color:var(--good)}
.ch-card .bad{color:var(--bad)}.ch-card pre{white-space:pre-wrap;font:13px ui-monospace}
.ch-card .after{white-space:pre-line;border-top:1px solid var(--line);padding-top:8px}
.ch-card ul{margin:4px 0;padding-left:20px}.ch-card .maps{display:flex;gap:16px;flex-wrap:wrap}
.ch-card table{border-collapse:collapse}.ch-card caption{color:var(--muted);text-align:left}
.ch-card td{min-width:34px;padding:2px 4px;font:12.5px ui-monospace;text-align:right;
border:0!important;color:var(--text)}
"""
NAMES = ("expected", "actual")


def card(report: Report, title: str, after: str = "") -> str:
    """The report as one HTML element; `after` is a text below it."""
    state = "good" if report.passed else "bad"
    rows = [f'<h4>{escape(title)}: <span class="{state}">{escape(_headline(report))}</span></h4>']
    if not report.passed:
        rows += [f"<pre>{escape(line)}</pre>" for line in report.lines()[:1]]
    for mistake in report.mistakes:
        rows.append(f"<p><b>Known mistake.</b> {escape(mistake.diagnosis)}")
        rows.append(f"<br><small>Lesson: {escape(mistake.lesson)}</small></p>")
    if not report.error:
        rows.append(f"<ul>{''.join(_item(c.name, c.passed) for c in report.checks)}</ul>")
    rows.append(_maps(report.matrices))
    rows += [f"<div class='after'>{escape(after)}</div>"] if after else []
    return f"<style>{STYLE}</style><div class='ch-card'>{''.join(rows)}</div>"


def _headline(report: Report) -> str:
    if report.passed or report.checks:
        return report.score
    return "not checked"


def _item(name: str, passed: bool) -> str:
    mark, state = ("✓", "good") if passed else ("✗", "bad")
    return f'<li><span class="{state}">{mark}</span> {escape(name)}</li>'


def _maps(matrices: tuple[list[list[float]], ...]) -> str:
    if len(matrices) != len(NAMES):
        return ""
    every = [abs(x) for matrix in matrices for row in matrix for x in row if x == x]
    largest = max([x for x in every if x != float("inf")], default=0.0) or 1.0
    maps = (_map(m, name, largest) for m, name in zip(matrices, NAMES, strict=True))
    return f"<div class='maps'>{''.join(maps)}</div>"


def _map(matrix: list[list[float]], name: str, largest: float) -> str:
    """Positive values in the accent colour, negative in orange, by their share of the largest."""
    rows = "".join(f"<tr>{''.join(_cell(x, largest) for x in row)}</tr>" for row in matrix)
    return f"<table><caption>{name}</caption>{rows}</table>"


def _cell(value: float, largest: float) -> str:
    share = min(100, round(100 * abs(value) / largest)) if value == value else 0
    colour = "var(--accent)" if value > 0 else "#f0a266"
    style = f"background:color-mix(in oklab,{colour} {share * 6 // 10}%,var(--surface))"
    return f"<td style='{style}'>{value:.2f}</td>"
