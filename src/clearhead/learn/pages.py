"""The pages that a learner keeps: her portfolio, and the certificate at the end of the course.

No script, no network, both themes.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TypeGuard

import torch
from torch import Tensor

from clearhead.blocks import record_attention
from clearhead.errors import UserError
from clearhead.explain.attention import labels, sentence_pair
from clearhead.learn.folder import locate, read_answer
from clearhead.learn.manifest import CODING, CONTENT, Exercise, course
from clearhead.learn.notebook import heat_cell
from clearhead.learn.session import Session
from clearhead.learn.swap import ARGUMENTS, Block, Swapped, block_of, compare
from clearhead.learn.texts import answer_of, file_name, paragraphs
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
    answer = f"<pre>{escape(text)}</pre>"
    if exercise.kind == "written":
        text = "\n\n".join(paragraphs(answer_of(text)))
        answer = f"<p class='written'>{escape(text)}</p>"
    score = session.progress.passed.get(exercise.name)
    state = f"<span class='{'good' if score else 'bad'}'>{score or 'not passed yet'}</span>"
    marks = session.progress.rubric.get(exercise.name, [])
    points = [f"{'✓' if ok else '✗'} {p}" for p, ok in zip(exercise.rubric, marks, strict=False)]
    assessed = "".join(f"<li>{escape(point)}</li>" for point in points)
    return _card(
        f"{course().number(exercise)} {exercise.title}",
        f"{state} <span class='muted'>{escape(file_name(exercise))}</span>{answer}"
        + (f"<p class='muted'>Self-assessment</p><ul>{assessed}</ul>" if points else ""),
    )


@dataclass(frozen=True)
class Proof:
    """A sentence that the learner's blocks translated, and where the decoder looked.

    A block that does not keep `attention_scores` has no `weights`.
    """

    source: str
    translation: str
    expected: str
    blocks: tuple[Swapped, ...]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    weights: tuple[tuple[float, ...], ...]


def learners_blocks(session: Session) -> list[Block]:
    """The learner's class for each kind of block, from the last exercise passed that has it."""
    found: dict[str, Block] = {}
    for exercise in reversed(course().exercises):
        if exercise.kind not in CODING or exercise.name not in session.progress.passed:
            continue
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

    expected, actual, blocks = compare(model, translate, mine)
    pair = sentence_pair(Translator(model, tokenizer, engine="readable"), source, actual[0])
    rows, columns = (tuple(labels(tokenizer, ids)) for ids in (pair.written, pair.source))
    record_attention(model)
    with torch.no_grad():
        model(*pair.tensors(model))
    scores = (getattr(module, "attention_scores", None) for module in model.decoder.modules())
    maps = [s[0].mean(0) for s in scores if _is_cross_attention(s, len(rows), len(columns))]
    weights = tuple(map(tuple, maps[-2:][0].tolist())) if maps else ()
    return Proof(source, actual[0], expected[0], tuple(blocks), rows, columns, weights)


def _is_cross_attention(scores: object, queries: int, keys: int) -> TypeGuard[Tensor]:
    """Whether these are weights, (1, h, query, key), and not those of masked self-attention."""
    if not isinstance(scores, Tensor) or scores.dim() != 4:
        return False
    return scores.shape[2:] == (queries, keys) and bool(scores.triu(1).any())


def certificate(session: Session, proof: Proof, name: str = "") -> str:
    """The translation by the learner's blocks, her attention map, and what she built."""
    right = proof.translation == proof.expected
    note = "the same" if right else f"not the same: {proof.expected}"
    translated = _card(
        "What do your blocks translate?",
        f"<p class='muted'>{escape(proof.source)}</p>"
        f"<p class='big' lang='fr'>{escape(proof.translation)}</p>With the library's blocks: "
        f"<span class='{'good' if right else 'bad'}'>{escape(note)}</span>",
    )
    chapters = "".join(
        _row(f"{number}. {title}", f"{sum(map(session.is_done, inside))} of {len(inside)}")
        for number, title in course().chapters.items()
        for inside in [course().inside(number)]
    )
    done = _card("Which exercises are done?", f"<ul class='rows two'>{chapters}</ul>")
    times = (_row(b.name, f"{b.count} ×", b.filename, b.note) for b in proof.blocks)
    ran = _card("Which of your blocks ran?", f"<ul class='rows two'>{''.join(times)}</ul>")
    body = f"<div class='columns'><div>{translated}{_map(proof)}{done}</div><div>{ran}</div></div>"
    return _page(session, "The Transformer, block by block", f"{name} · " if name else "", body)


def _map(proof: Proof) -> str:
    """The cross-attention as a table: one row for each French token."""
    heading = "Which English tokens does each French token attend to?"
    if not proof.weights:
        return _card(heading, "Not known: your attention block keeps no attention_scores.")
    head = "".join(f"<th scope='col'><span>{escape(t)}</span></th>" for t in proof.columns)
    rows = "".join(
        f"<tr><th scope='row'>{escape(token)}</th>{''.join(heat_cell(w, 1) for w in weights)}</tr>"
        for token, weights in zip(proof.rows, proof.weights, strict=True)
    )
    table = f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody></table>"
    about = "Cross-attention of the decoder layer before the last, mean of the heads"
    return _card(
        heading, f"<div class='scroll' tabindex='0'>{table}</div><p class='muted'>{about}</p>"
    )


def _row(text: str, number: str, *below: str) -> str:
    """One row of a list: a text, a number at the right, and remarks below the text."""
    remarks = "".join(f"<small>{escape(line)}</small>" for line in below if line)
    return f"<li><span>{escape(text)}{remarks}</span><span>{escape(number)}</span></li>"


def _card(heading: str, body: str) -> str:
    return f"<section class='card'><h2>{escape(heading)}</h2>{body}</section>"


def _page(session: Session, title: str, by: str, body: str) -> str:
    done = f"{by}{session.done()} of {len(course().exercises)} exercises done"
    style = DESIGN.read_text(encoding="utf-8") + (CONTENT / "page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title}'
        f"</title><style>{style}</style></head><body><main class='ch-page'><h1>{title}</h1>"
        f"<p class='muted'>{escape(done)}</p>{body}</main></body></html>\n"
    )
