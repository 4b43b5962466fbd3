"""The page at the end of the course: her translation, her attention map, what she built."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import torch

from clearhead.blocks import look_ahead_mask, record_attention
from clearhead.errors import UserError
from clearhead.learn.folder import locate, read_answer
from clearhead.learn.manifest import CODING, course
from clearhead.learn.session import Session
from clearhead.learn.swap import ARGUMENTS, Block, block_of, compare
from clearhead.models import Transformer
from clearhead.text import BothLanguages
from clearhead.translation import Translator
from clearhead.translation.loading import find_model, load_translator

DESIGN = Path(__file__).parents[1] / "explain" / "design.css"
STYLE = """
body{margin:0;background:light-dark(#f7f7f5,#12151a)}
.ch-page{max-width:1080px;margin:0 auto;padding:32px 24px;color:var(--ink);
font:15px/1.5 var(--font)}
h1{font-size:22px;font-weight:650;margin:0}.muted{color:var(--muted)}
.columns{display:grid;grid-template-columns:minmax(0,1fr) 340px;gap:16px;margin-top:24px}
.card{background:var(--surface);border:1px solid var(--line);border-radius:10px;padding:16px;
margin-bottom:16px}.card h2{font-size:12.5px;font-weight:600;color:var(--muted);margin:0 0 8px}
.big{font-size:20px;margin:0 0 8px;overflow-wrap:anywhere}.good{color:var(--good)}
.bad{color:var(--bad)}ul{margin:0;padding-left:20px}
.scroll{overflow-x:auto;border-radius:6px}table{border-collapse:collapse}
th{font-weight:400;font-size:13px;padding:4px;white-space:nowrap}
tbody th{text-align:right;position:sticky;left:0;background:var(--surface)}
td{min-width:44px;height:28px;text-align:right;padding:0 6px;font:12.5px var(--mono);
font-variant-numeric:tabular-nums}
@media(max-width:860px){.columns{grid-template-columns:minmax(0,1fr)}}
@media print{.card{break-inside:avoid}}
"""


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
    found = []
    for name in ARGUMENTS:
        for exercise in reversed(course().exercises):
            if exercise.kind not in CODING or exercise.name not in session.progress.passed:
                continue
            text = read_answer(session.folder, exercise)
            if re.search(rf"^class {name}\b", text, re.MULTILINE):
                path = locate(session.folder, exercise).relative_to(session.folder)
                found.append(block_of(text, str(path), name))
                break
    return found


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
    return _pieces(tokenizer, src), _pieces(tokenizer, tgt), weights


def _pieces(tokenizer: BothLanguages, ids: Sequence[int]) -> tuple[str, ...]:
    return tuple(tokenizer.piece(token) for token in ids)


def page(session: Session, proof: Proof, name: str = "") -> str:
    """The certificate as one HTML page: no script, no network, both themes."""
    total, done = len(course().exercises), session.done()
    title = "The Transformer, block by block"
    right = proof.translation == proof.expected
    state = ("good", "the same as with the library's blocks") if right else (
        "bad", f"the library's blocks: {proof.expected}"
    )  # fmt: skip
    by = f"{escape(name)} · " if name else ""
    main = (
        _card("Translated by your own blocks", f"<p class='muted'>{escape(proof.source)}</p>"
              f"<p class='big' lang='fr'>{escape(proof.translation)}</p>"
              f"<span class='{state[0]}'>{escape(state[1])}</span>")
        + _map(proof)
    )  # fmt: skip
    side = _card("Blocks that ran", _list(proof.lines)) + _card("Exercises", _chapters(session))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}'
        f"</title><style>{DESIGN.read_text(encoding='utf-8')}{STYLE}</style></head><body>"
        f"<main class='ch-page'><h1>{title}</h1>"
        f"<div class='muted'>{by}{done} of {total} exercises done</div>"
        f"<div class='columns'><div>{main}</div><div>{side}</div></div></main></body></html>\n"
    )


def _card(heading: str, body: str) -> str:
    return f"<section class='card'><h2>{heading}</h2>{body}</section>"


def _list(lines: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"


def _map(proof: Proof) -> str:
    """The cross-attention as a table: one row for each French token."""
    if not proof.weights:
        return _card("Attention map", "Your attention block keeps no attention_scores.")
    head = "".join(f"<th scope='col'>{escape(token)}</th>" for token in proof.columns)
    rows = "".join(
        f"<tr><th scope='row'>{escape(token)}</th>{''.join(map(_cell, weights))}</tr>"
        for token, weights in zip(proof.rows, proof.weights, strict=True)
    )
    table = f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody></table>"
    heading = "Which English tokens does each French token attend to?"
    return _card(heading, f"<div class='scroll' tabindex='0'>{table}</div>")


def _cell(weight: float) -> str:
    share = round(60 * weight)
    colour = f"color-mix(in oklab,var(--accent) {share}%,var(--surface))"
    return f"<td style='background:{colour}'>{weight:.2f}</td>"


def _chapters(session: Session) -> str:
    """How many exercises of each chapter are done."""
    lines = []
    for number, title in course().chapters.items():
        inside = [e for e in course().exercises if e.chapter == number]
        if inside:
            lines.append(f"{number}. {title}: {sum(map(session.is_done, inside))} of {len(inside)}")
    return _list(lines)
