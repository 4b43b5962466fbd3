"""Frozen parameters do not change, compute in the run's data type and are saved as loaded."""

from pathlib import Path

import pytest
import torch

from clearhead.models.weights import read_tensors
from clearhead.training.session import Session, start
from clearhead.training.tasks.translation import Translation
from tests.training.tiny import tiny_recipe


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_frozen_weights_are_saved_bit_by_bit_and_the_others_learn(
    precision: str, optimizer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = start_half_frozen(tmp_path, monkeypatch, optimizer, precision)
    before = read_tensors(session.run.last / "model.safetensors")
    session.trainer.step()
    session.checkpoints.save_last()
    after = read_tensors(session.run.last / "model.safetensors")
    for name, parameter in session.trainer.model.named_parameters():
        assert parameter.dtype == session.trainer.settings.dtype
        assert torch.equal(before[name], after[name]) == name.startswith("encoder."), name
    frozen = sum(t.numel() for name, t in after.items() if name.startswith("encoder."))
    whole = sum(t.numel() for t in after.values())
    assert session.trainer.optimizer.master.numel() == whole - frozen > 0


def start_half_frozen(
    folder: Path, monkeypatch: pytest.MonkeyPatch, optimizer: str, precision: str
) -> Session:
    """A translator whose encoder is not to learn; `last` holds it after a step."""
    prepare = Translation.__init__

    def frozen(self: Translation, *given: object) -> None:
        prepare(self, *given)  # type: ignore[arg-type]
        self.model.encoder.requires_grad_(False)

    monkeypatch.setattr(Translation, "__init__", frozen)
    session = start(tiny_recipe(folder, optimizer, precision=precision), folder / "run")
    session.trainer.step()
    session.checkpoints.save_last()
    return session
