"""One table of all verdicts: what is missed, and who is missing, is said."""

import json
from pathlib import Path

import pytest
import torch

from clearhead.compare.proofs import peers, verifying
from clearhead.compare.proofs.peers import PEERS, Peer
from clearhead.compare.proofs.proof import Finding, Proof
from clearhead.compare.proofs.report import show
from clearhead.compare.proofs.verifying import Verdict, Verification, attempts, verify
from clearhead.errors import UserError

GOOD = Proof("ours", "theirs", "float64", 1e-10, lambda: Finding(2e-12, 3e-13))
BAD = Proof("mine", "yours", "float32", 1e-5, lambda: Finding(4e-3, None, 2, "two unlike"))


def verification(*proofs: Proof) -> Verification:
    return Verification(list(attempts("torch", proofs)), {"torch": "torch 9"}, ["keras left out"])


def test_the_text_says_numbers_bounds_and_how_many_are_missed() -> None:
    text = show(verification(GOOD, BAD), "text")
    assert "met    float64   2.0e-12   3.0e-13  ≤ 1.0e-10 ours = theirs" in text
    assert "MISSED float32   4.0e-03         —  ≤ 1.0e-05 mine = yours (two unlike)" in text
    assert "keras left out" in text and "1 of 2 are MISSED on this machine" in text
    assert "all 1 proofs hold" in show(verification(GOOD), "text")


def test_every_column_stands_under_its_head() -> None:
    head, first = show(verification(GOOD), "text").splitlines()[1:3]
    for title, value in (("outputs", "2.0e-12"), ("gradients", "3.0e-13")):
        assert head.index(title) + len(title) == first.index(value) + len(value)
    for title, value in (("in", "float64"), ("bound", "≤"), ("claim", "ours = theirs")):
        assert head.index(title) == first.index(value)


def test_what_is_only_near_is_not_called_equal() -> None:
    near = Proof("int8", "float32", "int8", 0.25, lambda: Finding(0.06), "≈")
    assert "int8 ≈ float32" in show(verification(near), "text")
    assert "| int8 | ≈ float32 |" in show(verification(near), "md")
    assert json.loads(show(verification(near), "json"))["proofs"][0]["equal"] is False


def test_the_page_is_a_table() -> None:
    lines = show(verification(GOOD, BAD), "md").splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 4 and {row.count("|") for row in rows} == {8}
    assert "- keras left out" in lines


def test_the_record_is_json_also_where_a_number_is_none() -> None:
    lost = Proof("a", "b", "float32", 1e-5, lambda: Finding(float("nan"), float("inf")))
    record = json.loads(show(verification(GOOD, lost), "json"), parse_constant=pytest.fail)
    assert [proof["met"] for proof in record["proofs"]] == [True, False]
    assert record["proofs"][1]["outputs"] is None and record["missed"] == 1
    assert record["left_out"] == ["keras left out"]


def test_a_proof_leaves_the_callers_random_numbers_alone_and_has_its_own() -> None:
    found: list[float] = []

    def draw() -> Finding:
        found.append(float(torch.rand(())))
        return Finding(0.0)

    torch.manual_seed(3)
    before = torch.get_rng_state()
    for _ in range(2):
        assert all(v.met for v in attempts("x", [Proof("a", "b", "float32", 0.0, draw)] * 2))
    assert len(set(found)) == 1
    assert torch.equal(before, torch.get_rng_state())


@pytest.fixture
def one_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        verifying, "PEERS",
        {"fast": Peer("t", "m", ("torch",)), "keras": Peer("k", "m", ("no_such_package",))},
    )  # fmt: skip
    monkeypatch.setattr(Peer, "proofs", lambda self: iter([GOOD]))


@pytest.mark.usefixtures("one_missing")
def test_among_all_a_missing_peer_is_a_remark_with_its_extra() -> None:
    said: list[str] = []
    found = verify("all", said.append)
    assert [verdict.peer for verdict in found.verdicts] == ["fast"] and said == ["fast: t"]
    (remark,) = found.remarks
    assert "keras left out" in remark and "no_such_package" in remark and "[compare]" in remark


@pytest.mark.usefixtures("one_missing")
def test_a_missing_peer_that_was_asked_for_is_an_error_of_one_line() -> None:
    with pytest.raises(UserError, match=r"needs no_such_package.*clearhead\[compare\]"):
        verify("keras", lambda line: None)
    with pytest.raises(UserError, match="no peer 'jax'; choose from fast, keras, all"):
        verify("jax", lambda line: None)


def test_every_file_of_proofs_is_somebodys() -> None:
    """But for those that are not a peer's, but shared."""
    shared = {"__init__", "peers", "proof", "report", "sizes", "tiny", "verifying", "exported",
              "same_weights", "torch_layers", "fast_decoding", "learning", "generation",
              "precisions"}  # fmt: skip
    files = {path.stem for path in Path(peers.__file__).parent.glob("*.py")}
    assert files - shared == {peer.module.rsplit(".", 1)[1] for peer in PEERS.values()}


def test_a_verdict_is_met_at_its_bound_and_missed_above_it() -> None:
    proof = Proof("a", "b", "float32", 1e-5, lambda: Finding(0.0))
    for difference, met in ((1e-5, True), (1.1e-5, False)):
        assert Verdict("x", proof, Finding(difference), 0.0).met is met
        assert Verdict("x", proof, Finding(0.0, difference), 0.0).met is met
