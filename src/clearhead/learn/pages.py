"""The pages that a learner keeps: her portfolio, and the certificate at the end of the course.

No script, no network, both themes.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import torch

from clearhead.blocks import look_ahead_mask, record_attention
from clearhead.errors import UserError
from clearhead.learn.folder import locate, read_answer
from clearhead.learn.manifest import CODING, CONTENT, Exercise, course
from clearhead.learn.notebook import heat_cell
from clearhead.learn.session import Session
from clearhead.learn.swap import ARGUMENTS, Block, block_of, compare
from clearhead.learn.texts import answer_of, file_name
from clearhead.models import Transformer
from clearhead.text import BothLanguages
from clearhead.translation import Translator
from clearhead.translation.loading import find_model, load_translator

DESIGN = Path(__file__).parents[1] / "explain" / "design.css"


def portfolio(session: Session) -> str:
    """Every exercise that was attempted, in the order of the course, as one HTML page."""
    attempted = [e for e in course().exercises if e.name in session.progress.attempts]
    body = "".join(_attempt(session, e) for e in attempted)
    return _page(session, "My portfolio: the Transformer, block by block", "", body)


def _attempt(session: Session, exercise: Exercise) -> str:
    path = locate(session.folder, exercise)
    text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    if exercise.kind == "written":
        text = answer_of(text)
    state = session.progress.passed.get(exercise.name, "not passed yet")
    marks = session.progress.rubric.get(exercise.name, [])
    points = [f"{'✓' if ok else '✗'} {p}" for p, ok in zip(exercise.rubric, marks, strict=False)]
    assessed = f"<p class='muted'>Self-assessment</p>{_list(points)}" if points else ""
    return _card(
        f"{course().number(exercise)} {exercise.title}",
        f"<span class='good'>{escape(state)}</span> "
        f"<span class='muted'>{escape(file_name(exercise))}</span>"
        f"<pre>{escape(text)}</pre>{assessed}",
    )


@dataclass(frozen=True)
class Proof:
    """A sentence that the learner's blocks translated, and where the decoder looked."""

    source: str
    translation: str
    expected: str
    lines: tuple[str, ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    weights: tuple[tuple[float, ...], ...]


def learners_blocks(session: Session) -> list[Block]:
    """The learner's class for each kind of block, from the last exercise passed that has it."""
    passed = [
        e
        for e in reversed(course().exercises)
        if e.kind in CODING and e.name in session.progress.passed
    ]
    found = {}
    for exercise in passed:
        text = read_answer(session.folder, exercise)
        path = str(locate(session.folder, exercise).relative_to(session.folder))
        for name in re.findall(r"^class (\w+)\b", text, re.MULTILINE):
            if name in ARGUMENTS and name not in found:
                found[name] = block_of(text, path, name)
    return [found[name] for name in ARGUMENTS if name in found]


def prove(mine: Sequence[Block], source: str) -> Proof:
    """Translate a sentence with the shipped weights in the learner's blocks.

    Raises:
        UserError: there are no blocks yet, or one cannot be used.
    """
    if not mine:
        raise UserError(
            "no block of yours has passed yet; `clearhead learn list` shows the exercises"
        )
    model, tokenizer = load_translator(find_model(None), torch.device("cpu"))

    def translate() -> list[str]:
        return Translator(model, tokenizer, engine="readable").translate([source])

    expected, actual, lines = compare(model, translate, mine)
    columns, rows, weights = attention_map(model, tokenizer, source, actual[0])
    return Proof(source, actual[0], expected[0], tuple(lines), rows, columns, weights)


def attention_map(
    model: Transformer, tokenizer: BothLanguages, source: str, target: str
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[tuple[float, ...], ...]]:
    """Source tokens, target tokens, and the cross-attention between them, heads averaged.

    It is that of the decoder layer before the last. A block that does not keep
    `attention_scores` has no map.
    """
    src = [*tokenizer.encode(source), tokenizer.eos_id]
    tgt = tokenizer.encode_target(target)
    inputs = torch.tensor([[model.config.bos_id, *tgt[:-1]]])
    visible = torch.ones(1, 1, 1, len(src), dtype=torch.bool)
    record_attention(model)
    with torch.no_grad():
        model(torch.tensor([src]), inputs, visible, look_ahead_mask(inputs.shape[1]))
    layers = getattr(model.decoder, "layers", [])
    block = getattr(layers[-2], "cross_attention_block", None) if len(layers) > 1 else None
    scores = getattr(block, "attention_scores", None)
    if not isinstance(scores, torch.Tensor) or scores.dim() != 4:
        return (), (), ()
    weights = tuple(tuple(row) for row in scores[0].mean(0).tolist())
    columns, rows = (tuple(map(tokenizer.piece, ids)) for ids in (src, tgt))
    return columns, rows, weights


def certificate(session: Session, proof: Proof, name: str = "") -> str:
    """The translation by the learner's blocks, her attention map, and what she built."""
    right = proof.translation == proof.expected
    state = "good" if right else "bad"
    note = "the same as with the library's blocks"
    if not right:
        note = f"the library's blocks: {proof.expected}"
    translated = _card(
        "Translated by your own blocks",
        f"<p class='muted'>{escape(proof.source)}</p>"
        f"<p class='big' lang='fr'>{escape(proof.translation)}</p>"
        f"<span class='{state}'>{escape(note)}</span>",
    )
    side = _card("Blocks that ran", _list(proof.lines)) + _card("Exercises", _chapters(session))
    body = f"<div class='columns'><div>{translated}{_map(proof)}</div><div>{side}</div></div>"
    return _page(session, "The Transformer, block by block", f"{name} · " if name else "", body)


def _map(proof: Proof) -> str:
    """The cross-attention as a table: one row for each French token."""
    if not proof.weights:
        return _card("Attention map", "Your attention block keeps no attention_scores.")
    head = "".join(f"<th scope='col'>{escape(token)}</th>" for token in proof.columns)
    rows = "".join(
        f"<tr><th scope='row'>{escape(token)}</th>{''.join(heat_cell(w, 1) for w in weights)}</tr>"
        for token, weights in zip(proof.rows, proof.weights, strict=True)
    )
    table = f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody></table>"
    heading = "Which English tokens does each French token attend to?"
    return _card(heading, f"<div class='scroll' tabindex='0'>{table}</div>")


def _chapters(session: Session) -> str:
    """How many exercises of each chapter are done."""
    lines = []
    for number, title in course().chapters.items():
        if inside := course().inside(number):
            lines.append(f"{number}. {title}: {sum(map(session.is_done, inside))} of {len(inside)}")
    return _list(lines)


def _card(heading: str, body: str) -> str:
    return f"<section class='card'><h2>{escape(heading)}</h2>{body}</section>"


def _list(lines: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"


def _page(session: Session, title: str, by: str, body: str) -> str:
    done = f"{by}{session.done()} of {len(course().exercises)} exercises done"
    style = DESIGN.read_text(encoding="utf-8") + (CONTENT / "page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}'
        f"</title><style>{style}</style></head><body><main class='ch-page'><h1>{title}</h1>"
        f"<p class='muted'>{escape(done)}</p>{body}</main></body></html>\n"
    )
