"""`clearhead verify` and `clearhead compare keras` on the command line."""

import json

import pytest

from clearhead.blocks import MultiHeadAttentionBlock
from clearhead.cli.main import run
from clearhead.compare import timing
from clearhead.compare.proofs import fixtures
from clearhead.compare.proofs.verification import PEERS, Peer
from tests.compare.keras_attention.installed import needs_keras
from tests.compare.proofs.test_proofs import heads_are_the_fast_axis


def test_one_peer_is_a_table_and_exit_code_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "torch"]) == 0
    out, err = capsys.readouterr()
    assert "torch: our blocks and torch.nn (torch " in out and "MISSED" not in out
    assert "MultiHeadAttentionBlock = nn.MultiheadAttention" in out
    assert err == "torch: our blocks and torch.nn\n"


def test_an_exceeded_bound_is_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(MultiHeadAttentionBlock, "split_heads", heads_are_the_fast_axis)
    assert run(["verify", "torch", "--format", "json"]) == 1
    record = json.loads(capsys.readouterr().out)
    missed = {proof["ours"] for proof in record["proofs"] if not proof["met"]}
    assert "MultiHeadAttentionBlock" in missed and "FeedForwardBlock" not in missed


def test_the_choices_are_the_peers(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "jax"]) == 2
    err = capsys.readouterr().err
    assert all(f"'{name}'" in err for name in [*PEERS, "all"])


def test_a_missing_peer_is_one_line_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(PEERS, "keras", Peer("k", "m", ("no_such_package",)))
    assert run(["verify", "keras"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert "needs no_such_package" in err and "clearhead[compare]" in err


@needs_keras
def test_keras_is_compared_in_markdown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fixtures, "MASKS", {"both": fixtures.MASKS["both"]})
    assert run(["compare", "keras", "--format", "md"]) == 0
    out = capsys.readouterr().out
    assert "| nn.MultiheadAttention | = keras.layers.MultiHeadAttention | float64 |" in out
    assert "| True in a mask | visible | hidden | visible |" in out


def test_without_keras_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(timing, "is_installed", lambda package: False)
    assert run(["compare", "keras"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "clearhead[compare]" in err
