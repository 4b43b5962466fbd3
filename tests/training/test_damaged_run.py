"""Damage to any file of a run is noticed and named in one line; nothing else is lost."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from clearhead.data.encoded import EncodedCorpus
from clearhead.data.token_stream import PackedCorpus
from clearhead.errors import UserError
from clearhead.files import CHECKSUMS
from clearhead.training.metrics import read_metrics
from clearhead.training.reporter import draw_curves
from clearhead.training.session import Session, resume
from clearhead.training.tasks.translation import DevSet
from tests.training.tiny import Killed, assert_same_state, kill_after, state_of

CHECKED = [
    "tokenizer.json",
    "data/meta.json",
    "data/index.bin",
    "data/tokens.bin",
    "data/dev.jsonl",
    "data/origin.json",
    "last/training_state.safetensors",
]


def begun(session: Session) -> Path:
    """A run with a checkpoint at step 3."""
    for _ in range(3):
        session.reporter.step(session.trainer.step())
    session.checkpoints.save_last()
    return session.run.root


def refused(run: Path) -> str:
    with pytest.raises(UserError) as caught:
        resume(run)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("name", CHECKED)
def test_a_damaged_file_is_named(name: str, session: Session) -> None:
    path = begun(session) / name
    whole = path.read_bytes()
    chosen = random.Random(1)
    for position in chosen.sample(range(len(whole)), 3):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << chosen.randrange(8)
        path.write_bytes(damaged)
        assert str(path) in refused(session.run.root)
    path.write_bytes(whole)
    resume(session.run.root)


@pytest.mark.parametrize("name", CHECKED)
def test_a_missing_file_is_named_and_not_made_anew(name: str, session: Session) -> None:
    run = begun(session)
    (run / "best").mkdir()  # as after a validation
    (run / name).unlink()
    assert f"{run / name} is missing" in refused(run)
    assert not (run / name).exists()


def test_missing_metrics_are_mentioned(session: Session, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(session.recipe.run.log_every):
        session.reporter.step(session.trainer.step())
    run = begun(session)
    metrics = run / "metrics.jsonl"
    resume(run)
    assert "will have a gap" not in caplog.text
    (line,) = metrics.read_text(encoding="utf-8").splitlines()
    for content in ("", line[:10]):
        metrics.write_text(content, encoding="utf-8")
        caplog.clear()
        resume(run)
        assert f"{metrics} ends at step 0 and the checkpoint is of step 8" in caplog.text


def without_checksums(run: Path) -> None:
    for path in run.rglob(CHECKSUMS):
        path.unlink()


def test_a_run_of_before_checksums_goes_on(session: Session, tmp_path: Path) -> None:
    run = begun(session)
    expected = state_of(session)
    without_checksums(run)
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8")
    assert lines == "" or "crc32" in lines
    again = resume(run)
    assert_same_state(state_of(again), expected)
    again.train()


HOSTILE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda whole: b"",
    "cut": lambda whole: whole[: len(whole) // 2],
    "nested": lambda whole: b"[" * 100_000,
    "no text": lambda whole: b"\xff" * len(whole),
    "null": lambda whole: b"null",
    "a number": lambda whole: b"3",
    "a list of numbers": lambda whole: b"[1, 2]",
    "other values": lambda whole: whole.replace(b'": ', b'": -'),
    "a huge number": lambda whole: b'{"source": 1' + b"0" * 5000 + b"}",
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("name", ["data/meta.json", "data/dev.jsonl", "data/origin.json"])
def test_damage_without_checksums_is_one_line_too(name: str, kind: str, session: Session) -> None:
    path = begun(session) / name
    without_checksums(session.run.root)
    path.write_bytes(HOSTILE[kind](path.read_bytes()))
    assert str(path.parent) in refused(session.run.root)


def test_a_damaged_index_is_noticed_without_a_checksum(session: Session) -> None:
    path = begun(session) / "data" / "index.bin"
    without_checksums(session.run.root)
    whole = path.read_bytes()
    for position in random.Random(2).sample(range(len(whole)), 40):
        damaged = bytearray(whole)
        damaged[position] ^= 0x81
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=r"index\.bin is damaged"):
            EncodedCorpus.open(path.parent)


@pytest.mark.parametrize("key", ["texts", "tokens", "dtype", "digest"])
@pytest.mark.parametrize("value", [None, -1, 1e30, 10**30, "x", [], "O", 0])
def test_a_token_stream_with_wrong_metadata_is_one_line(
    key: str, value: object, tmp_path: Path
) -> None:
    PackedCorpus.build(["ab", "c"], lambda texts: [[5] * len(t) for t in texts], 1, 9, tmp_path)
    without_checksums(tmp_path)
    meta = json.loads((tmp_path / "meta.json").read_text(encoding="utf-8"))
    (tmp_path / "meta.json").write_text(json.dumps(meta | {key: value}), encoding="utf-8")
    try:
        corpus = PackedCorpus.open(tmp_path)
    except UserError as error:
        assert "\n" not in str(error)
    else:
        assert key in ("texts", "digest") and list(corpus.read(0, 9)) == [1, 5, 5, 1, 5, 1]


def test_damaged_records_are_named_left_out_and_kept(
    session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    run = begun(session)
    book = session.reporter.metrics
    for step in (1, 2, 3):
        book.append("train", step, {"loss": 1.5, "lr": 0.25})
    whole = book.path.read_bytes()
    lines = whole.split(b"\n")
    for changed in (lines[1].replace(b"1.5", b"1.7"), b"\xff" * 20, b"[" * 50_000, b"", b"3"):
        book.path.write_bytes(b"\n".join([lines[0], changed, *lines[2:]]))
        damaged = book.path.read_bytes()
        caplog.clear()
        resume(run)
        assert "is damaged in line 2, which is left out" in caplog.text
        assert [record["step"] for record in read_metrics(book.path)] == [1, 3]
        assert (run / "metrics.damaged.jsonl").read_bytes() == damaged
        book.path.write_bytes(whole)


def test_a_model_directory_of_a_run_notices_damage(session: Session) -> None:
    last = begun(session) / "last"
    for name in ("config.json", "tokenizer.json"):
        whole = (last / name).read_bytes()
        (last / name).write_bytes(whole.replace(b"1", b"2", 1))
        with pytest.raises(UserError, match="is damaged: its checksum differs"):
            from clearhead.translation import Translator

            Translator.from_pretrained(last)
        (last / name).write_bytes(whole)


@pytest.mark.parametrize("step", [4, 9])
def test_a_removed_directory_is_an_error_and_stays_removed(
    step: int, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = session.trainer.step

    def step_and_remove() -> object:
        report = original()
        if report.step == step:
            shutil.rmtree(session.run.root)
        return report

    monkeypatch.setattr(session.trainer, "step", step_and_remove)
    with pytest.raises(UserError, match="was removed or replaced while the run trained"):
        session.train()
    assert not session.run.root.exists()


def test_a_kill_during_an_evaluation_loses_no_step(
    session: Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def killed(self: DevSet, model: object, samples: int) -> None:
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(DevSet, "validate", killed)
        session.train()
    assert session.progress.step == 4  # evaluated every 4 steps, saved every 3
    again = resume(tmp_path / "run")
    assert (again.progress.step, again.progress.evaluated_at) == (4, 0)
    again.train()
    kinds = [(r["kind"], r["step"]) for r in read_metrics(tmp_path / "run" / "metrics.jsonl")]
    assert [step for kind, step in kinds if kind == "dev"] == [4, 8, 12]


def test_a_kill_leaves_no_unfinished_picture(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    from matplotlib.figure import Figure

    def killed(self: object, *given: object, **more: object) -> None:
        raise Killed

    monkeypatch.setattr(Figure, "savefig", killed)
    monkeypatch.setattr(Path, "unlink", lambda *given, **more: None)  # a kill cleans nothing up
    before = sorted(path.name for path in session.run.root.iterdir())
    with pytest.raises(Killed):
        draw_curves([], session.run.curves, session.task.description.metric)
    assert sorted(path.name for path in session.run.root.iterdir()) == before


def test_a_changed_corpus_is_mentioned_and_the_run_goes_on(
    session: Session, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill_after(monkeypatch, session, 5)
    with pytest.raises(Killed):
        session.train()
    path = Path(session.recipe.data.train)
    content = path.read_bytes()
    path.write_bytes(content)  # another time, the same content
    resume(session.run.root)
    assert "has changed" not in caplog.text
    path.write_bytes(content.replace(b"cat", b"dog", 1))
    again = resume(session.run.root)
    assert f"{path} has changed since this run began" in caplog.text
    again.train()
