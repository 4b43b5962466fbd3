"""The report states every result, every missed bound and every peer that was left out."""

import json
from pathlib import Path

import pytest
import torch

from clearhead.compare.proofs import verification as module
from clearhead.compare.proofs.proof import Deviation, Proof
from clearhead.compare.proofs.verification import (
    PEERS,
    Peer,
    Result,
    Verification,
    run_proofs,
    show,
    verify,
)
from clearhead.errors import UserError

GOOD = Proof("ours", "theirs", "float64", 1e-10, lambda: Deviation(2e-12, 3e-13))
BAD = Proof("mine", "yours", "float32", 1e-5, lambda: Deviation(4e-3, None, 2, "two differ"))


def verified(*proofs: Proof) -> Verification:
    return Verification(list(run_proofs("torch", proofs)), {"torch": "torch 9"}, ["keras left out"])


def test_the_text_shows_differences_bounds_and_the_number_of_failures() -> None:
    text = show(verified(GOOD, BAD), "text")
    assert "met    float64   2.0e-12   3.0e-13  ≤ 1.0e-10 ours = theirs" in text
    assert "MISSED float32   4.0e-03         —  ≤ 1.0e-05 mine = yours (two differ)" in text
    assert "keras left out" in text and "MISSED: 1 of 2 proofs on this machine" in text
    assert "all 2 proofs hold on" in show(verified(GOOD, GOOD), "text")
    assert "\nthe proof holds on" in show(verified(GOOD), "text")
    assert "MISSED: 1 of 1 proof on" in show(verified(BAD), "text")


def test_columns_are_aligned_with_their_heads() -> None:
    head, first = show(verified(GOOD), "text").splitlines()[1:3]
    for title, value in (("outputs", "2.0e-12"), ("gradients", "3.0e-13")):
        assert head.index(title) + len(title) == first.index(value) + len(value)
    for title, value in (("in", "float64"), ("bound", "≤"), ("claim", "ours = theirs")):
        assert head.index(title) == first.index(value)


def test_an_approximation_is_not_called_equal() -> None:
    near = Proof("int8", "float32", "int8", 0.25, lambda: Deviation(0.06), "≈")
    assert "int8 ≈ float32" in show(verified(near), "text")
    assert "| int8 | ≈ float32 |" in show(verified(near), "md")
    assert json.loads(show(verified(near), "json"))["proofs"][0]["equal"] is False


def test_the_markdown_is_a_table() -> None:
    lines = show(verified(GOOD, BAD), "md").splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 4 and {row.count("|") for row in rows} == {8}
    assert "- keras left out" in lines


def test_nan_and_infinity_are_null_in_json() -> None:
    lost = Proof("a", "b", "float32", 1e-5, lambda: Deviation(float("nan"), float("inf")))
    record = json.loads(show(verified(GOOD, lost), "json"), parse_constant=pytest.fail)
    assert [proof["met"] for proof in record["proofs"]] == [True, False]
    assert record["proofs"][1]["outputs"] is None and record["missed"] == 1
    assert record["left_out"] == ["keras left out"]


def test_a_proof_has_its_own_seed_and_restores_the_random_state() -> None:
    found: list[float] = []

    def draw() -> Deviation:
        found.append(float(torch.rand(())))
        return Deviation(0.0)

    torch.manual_seed(3)
    before = torch.get_rng_state()
    for _ in range(2):
        assert all(v.met for v in run_proofs("x", [Proof("a", "b", "float32", 0.0, draw)] * 2))
    assert len(set(found)) == 1
    assert torch.equal(before, torch.get_rng_state())


@pytest.fixture
def one_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        module, "PEERS",
        {"fast": Peer("t", "m", ("torch",)), "keras": Peer("k", "m", ("no_such_package",))},
    )  # fmt: skip
    monkeypatch.setattr(Peer, "proofs", lambda self: iter([GOOD]))


@pytest.mark.usefixtures("one_missing")
def test_a_missing_peer_among_all_is_a_remark_with_its_extra() -> None:
    lines: list[str] = []
    found = verify("all", lines.append)
    assert [result.peer for result in found.results] == ["fast"] and lines == ["fast: t"]
    (remark,) = found.remarks
    assert "keras left out" in remark and "no_such_package" in remark and "[compare]" in remark


@pytest.mark.usefixtures("one_missing")
def test_a_requested_peer_that_is_missing_is_an_error_in_one_line() -> None:
    with pytest.raises(UserError, match=r"needs no_such_package.*clearhead\[compare\]"):
        verify("keras", lambda line: None)
    with pytest.raises(UserError, match="no peer 'jax'; choose from fast, keras, all"):
        verify("jax", lambda line: None)


def test_without_a_native_engine_nothing_is_said_to_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clearhead.compare.proofs.native.missing_library", lambda: "none")
    with pytest.raises(UserError, match="native: this installation has no compiled engine"):
        verify("native", lambda line: None)
    monkeypatch.setattr(module, "PEERS", {"native": PEERS["native"]})
    found = verify("all", lambda line: None)
    assert not found.versions and "native left out" in found.remarks[0]


def test_a_package_may_come_from_a_distribution_of_another_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "runtime_like.py").write_text('__version__ = "1.2"', encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert Peer("t", "m", ("runtime_like",)).versions == "runtime_like 1.2"


def test_every_module_of_proofs_belongs_to_a_peer() -> None:
    shared = {"__init__", "proof", "verification", "fixtures", "shared_weights"}
    files = {path.stem for path in Path(module.__file__).parent.glob("*.py")}
    assert files - shared == {peer.module for peer in PEERS.values()}


def test_a_result_is_met_at_its_bound_and_missed_above_it() -> None:
    proof = Proof("a", "b", "float32", 1e-5, lambda: Deviation(0.0))
    for difference, met in ((1e-5, True), (1.1e-5, False)):
        assert Result("x", proof, Deviation(difference), 0.0).met is met
        assert Result("x", proof, Deviation(0.0, difference), 0.0).met is met
