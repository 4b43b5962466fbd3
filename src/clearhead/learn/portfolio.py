"""The learner's portfolio: her answers, results and self-assessments as one HTML page."""

from html import escape

from clearhead.learn.folder import locate
from clearhead.learn.manifest import Exercise, course
from clearhead.learn.session import Session
from clearhead.learn.texts import file_name
from clearhead.learn.written import answer_of

STYLE = """
:root{--bg:#f7f7f5;--surface:#fff;--text:#1a1e24;--muted:#5a636e;--line:#e2e4e8;--good:#1a7f4b}
@media (prefers-color-scheme:dark){:root{--bg:#12151a;--surface:#1a1f26;--text:#e7eaee;
--muted:#9aa4b0;--line:#2b323b;--good:#5fd08f}}
body{background:var(--bg);color:var(--text);font:15px/1.5 system-ui;margin:0 auto;padding:24px;
max-width:860px}h1{font-size:22px}section{background:var(--surface);border:1px solid var(--line);
border-radius:10px;padding:12px 16px;margin:16px 0}h3{font-size:15px;margin:0}
.state{color:var(--good)}.muted{color:var(--muted)}
pre{overflow-x:auto;font:13px/1.5 ui-monospace;white-space:pre-wrap}
"""


def portfolio(session: Session) -> str:
    """Every exercise that was attempted, in the order of the course."""
    sections = [_section(session, e) for e in course().exercises if _attempted(session, e)]
    title = "My portfolio: the Transformer, block by block"
    summary = f"{session.done()} of {len(course().exercises)} exercises done"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body><h1>{title}</h1>"
        f'<p class="muted">{summary}</p>{"".join(sections)}</body></html>\n'
    )


def _attempted(session: Session, exercise: Exercise) -> bool:
    return exercise.name in session.progress.attempts


def _section(session: Session, exercise: Exercise) -> str:
    path = locate(session.folder, exercise)
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    if exercise.kind == "written":
        text = answer_of(text)
    state = session.progress.passed.get(exercise.name, "not passed yet")
    heading = f"{course().number(exercise)} {exercise.title}"
    return (
        f"<section><h3>{escape(heading)}</h3>"
        f'<p><span class="state">{escape(state)}</span> '
        f'<span class="muted">{escape(file_name(exercise))}</span></p>'
        f"<pre>{escape(text)}</pre>{_rubric(session, exercise)}</section>"
    )


def _rubric(session: Session, exercise: Exercise) -> str:
    marks = session.progress.rubric.get(exercise.name)
    if not marks:
        return ""
    rows = zip(exercise.rubric, marks, strict=False)
    items = "".join(f"<li>{'✓' if ok else '✗'} {escape(point)}</li>" for point, ok in rows)
    return f"<p class='muted'>Self-assessment</p><ul>{items}</ul>"
