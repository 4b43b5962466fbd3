"""The certificate and the portfolio of a learner: what she built, in her own words."""

import re
from pathlib import Path

import pytest

from clearhead.errors import UserError
from clearhead.learn.client import Grader
from clearhead.learn.folder import locate, start
from clearhead.learn.manifest import course
from clearhead.learn.pages import Proof, certificate, learners_blocks, portfolio, prove
from clearhead.learn.session import Session
from clearhead.learn.swap import ARGUMENTS
from clearhead.learn.texts import solution_text
from tests.learn.answers.attention import HEAD_MODULES

SENTENCE = "A woman reads a book."


@pytest.fixture
def finished(tmp_path: Path) -> Session:
    """A folder in which every exercise is solved, and passed."""
    start(tmp_path)
    session = Session(tmp_path, Grader())
    for exercise in course().exercises:
        text, path = solution_text(exercise), locate(tmp_path, exercise)
        before = path.read_text(encoding="utf-8") if exercise.kind == "written" else ""
        path.write_text(before + text, encoding="utf-8")
        with session.changed() as progress:
            progress.passed[exercise.name] = "4 of 4 checks passed"
            progress.attempts[exercise.name] = 1
    return session


def proof_of(session: Session) -> Proof:
    return prove(learners_blocks(session), SENTENCE)


def test_every_block_of_a_finished_course_is_the_learners(finished: Session) -> None:
    proof = proof_of(finished)
    assert [b.name for b in proof.blocks] == list(ARGUMENTS)
    assert proof.translation == proof.expected and not any(b.note for b in proof.blocks)
    page = certificate(finished, proof, "Ada <Lovelace>")
    assert "Ada &lt;Lovelace&gt;" in page and "<script" not in page and "http" not in page
    assert f"{len(course().exercises)} of {len(course().exercises)} exercises done" in page


def test_the_attention_map_has_a_row_for_each_token_of_the_translation(finished: Session) -> None:
    proof = proof_of(finished)
    assert proof.columns[:2] == ("A", "woman") and proof.rows[0] == "Une"
    assert [len(row) for row in proof.weights] == [len(proof.columns)] * len(proof.rows)
    assert all(sum(row) == pytest.approx(1, abs=1e-4) for row in proof.weights)
    cells = re.findall(r"<td style[^>]*>[^<]*", certificate(finished, proof))
    assert len(cells) == len(proof.rows) * len(proof.columns)


def test_names_inside_a_learners_layers_are_hers_to_choose(finished: Session) -> None:
    for name in ("decoder", "decoder-block", "bug-decoder"):
        path = locate(finished.folder, course().exercise(name))
        text = path.read_text(encoding="utf-8").replace("cross_attention_block", "cross")
        path.write_text(text.replace("self.layers", "self.blocks"), encoding="utf-8")
    assert proof_of(finished).weights


def test_a_block_that_keeps_no_weights_has_no_map(finished: Session) -> None:
    for exercise in course().exercises:
        if exercise.subject == "multi_head_attention":
            locate(finished.folder, exercise).write_text(HEAD_MODULES, encoding="utf-8")
    proof = proof_of(finished)
    assert not proof.weights and "keeps no attention_scores" in certificate(finished, proof)


def test_without_a_block_of_ones_own_there_is_no_certificate(tmp_path: Path) -> None:
    start(tmp_path)
    with pytest.raises(UserError, match="no block of yours has passed yet"):
        proof_of(Session(tmp_path, Grader()))


def test_the_portfolio_says_what_has_not_been_passed(finished: Session) -> None:
    with finished.changed() as progress:
        del progress.passed["scale"]
    page = portfolio(finished)
    assert page.count("class='good'") == len(course().exercises) - 1
    assert "<span class='bad'>not passed yet</span>" in page


def test_a_written_answer_is_text_and_a_program_is_not_wrapped(finished: Session) -> None:
    page = portfolio(finished)
    assert page.count("<pre>") == sum(e.kind != "written" for e in course().exercises)
    assert page.count("<p class='written'>") == sum(e.kind == "written" for e in course().exercises)
