"""A checkpoint is complete or absent, never holds a NaN, and other files are refused by name."""

import errno
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor

from clearhead.errors import UserError
from clearhead.models import weights
from clearhead.training.checkpoint import FILE, load_checkpoint, save_checkpoint
from clearhead.training.metrics import Meter, Progress, read_metrics
from clearhead.training.session import Session, resume
from tests.training.tiny import assert_same_state, state_of


def test_values_and_tensors_round_trip(tmp_path: Path) -> None:
    progress = Progress(7, {"epoch": 2}, best=0.1 + 0.2, meter=Meter(loss=1 / 3, steps=2))
    save_checkpoint(tmp_path, progress, {"x": torch.arange(3.0)})
    again, tensors = load_checkpoint(tmp_path)
    assert again == progress
    assert torch.equal(tensors["x"], torch.arange(3.0))


def test_the_random_state_is_restored(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, Progress(), {})
    expected = torch.rand(5)
    torch.rand(3)
    load_checkpoint(tmp_path)
    assert torch.equal(torch.rand(5), expected)


def test_the_random_state_of_every_gpu_is_restored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    gpus = [torch.tensor([1], dtype=torch.uint8), torch.tensor([2], dtype=torch.uint8)]
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda n: gpus[n].clone())
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda state, n: gpus[n].copy_(state))
    save_checkpoint(tmp_path, Progress(), {})
    for state in gpus:
        state.zero_()
    assert load_checkpoint(tmp_path)[1] == {}
    assert [int(state) for state in gpus] == [1, 2]


def test_a_state_of_a_gpu_that_is_missing_here_is_left(tmp_path: Path) -> None:
    save_checkpoint(tmp_path, Progress(), {"random_cuda_9": torch.zeros(16, dtype=torch.uint8)})
    assert load_checkpoint(tmp_path)[1] == {}


@pytest.mark.parametrize("poison", [float("nan"), float("inf")])
def test_a_checkpoint_with_nan_is_not_written(poison: float, tmp_path: Path) -> None:
    save_checkpoint(tmp_path, Progress(1), {"x": torch.zeros(3)})
    with pytest.raises(UserError, match="step 2: x holds NaN or infinity"):
        save_checkpoint(tmp_path, Progress(2), {"x": torch.tensor([1.0, poison])})
    assert load_checkpoint(tmp_path)[0].step == 1


def foreign_files(good: bytes) -> dict[str, bytes]:
    return {
        "empty": b"",
        "truncated": good[:-5],
        "half": good[: len(good) // 2],
        "text": b"hello, I am not a checkpoint\n",
        "pickle": b"\x80\x04\x95" + bytes(60),
        "header of 1 EB": (2**60).to_bytes(8, "little") + good[8:],
    }


@pytest.mark.parametrize("kind", foreign_files(b""))
def test_another_file_is_refused_in_one_line(kind: str, session: Session, tmp_path: Path) -> None:
    session.trainer.step()
    session.checkpoints.save_last()
    path = tmp_path / "run" / "last" / FILE
    content = foreign_files(path.read_bytes())[kind]
    path.write_bytes(content)
    with pytest.raises(UserError, match="is not a complete training checkpoint") as caught:
        resume(tmp_path / "run")
    assert "\n" not in str(caught.value) and str(path) in str(caught.value)
    assert path.read_bytes() == content


def test_a_model_is_no_checkpoint(session: Session, tmp_path: Path) -> None:
    session.trainer.step()
    session.checkpoints.save_last()
    last = tmp_path / "run" / "last"
    (last / FILE).write_bytes((last / "model.safetensors").read_bytes())
    with pytest.raises(UserError, match="is not a complete training checkpoint"):
        resume(tmp_path / "run")


def test_an_incomplete_checkpoint_is_refused(session: Session, tmp_path: Path) -> None:
    session.trainer.step()
    session.progress.data = session.trainer.batches.state()
    session.progress.data.popitem()
    save_checkpoint(tmp_path / "run" / "last", session.progress, session.trainer.optimizer.state())
    with pytest.raises(UserError, match="is missing"):
        resume(tmp_path / "run")


def test_the_checkpoint_of_another_model_is_refused(session: Session, tmp_path: Path) -> None:
    session.trainer.step()
    session.trainer.progress.data = session.trainer.batches.state()
    small = {name: torch.zeros(3) for name in ("master", "exp_avg", "exp_avg_sq")}
    tensors = small | {"adam_step": torch.tensor(1.0)}
    save_checkpoint(tmp_path / "run" / "last", session.progress, tensors)
    with pytest.raises(UserError, match="the checkpoint holds 3 parameters"):
        resume(tmp_path / "run")


@pytest.mark.parametrize(
    "error",
    [OSError(errno.ENOSPC, "No space left on device"), SafetensorError("No space left on device")],
    ids=["OSError", "SafetensorError"],
)
def test_a_full_disk_keeps_the_previous_checkpoint(
    error: Exception, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.trainer.step()
    session.checkpoints.save_last()
    expected = state_of(session)

    def fills_up(tensors: dict[str, Tensor], path: Path, metadata: dict[str, str]) -> None:
        if FILE not in path.name:  # the model before it still finds room
            return save_file(tensors, path, metadata)
        path.write_bytes(b"half of i")
        raise error

    monkeypatch.setattr(weights, "save_file", fills_up)
    session.trainer.step()
    with pytest.raises(UserError, match="No space left on device; free some space"):
        session.checkpoints.save_last()
    monkeypatch.undo()
    assert_same_state(state_of(resume(tmp_path / "run")), expected)
    assert not [p for p in (tmp_path / "run" / "last").iterdir() if p.name.startswith(".")]


def test_a_record_that_cannot_be_written_is_one_line(session: Session) -> None:
    book = session.reporter.metrics
    book.path.unlink()
    book.path.mkdir()
    with pytest.raises(UserError, match=r"cannot write .*metrics\.jsonl"):
        book.append("train", 1, {"loss": 1.0})


def test_nan_becomes_null(session: Session) -> None:
    session.reporter.metrics.append("train", 1, {"loss": float("nan"), "lr": 1.0})
    assert read_metrics(session.reporter.metrics.path) == [
        {"kind": "train", "step": 1, "loss": None, "lr": 1.0}
    ]


def test_an_incomplete_last_record_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    whole = '{"kind": "train", "step": 1}\n'
    for cut in range(len(whole) - 1):
        path.write_text(whole + whole[:cut], encoding="utf-8", newline="\n")
        assert read_metrics(path) == [{"kind": "train", "step": 1}]


def test_saved_files_are_safetensors_only(session: Session, tmp_path: Path) -> None:
    session.train()
    kinds = {p.suffix for p in (tmp_path / "run").rglob("*") if p.is_file()}
    assert kinds == {".safetensors", ".json", ".jsonl", ".yaml", ".md", ".bin"}
