"""One step: labels are shifted once, gradients add up, and what is not finite changes nothing."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.blocks.masks import decoder_mask, padding_mask
from clearhead.data.batching import TokenBatches
from clearhead.errors import UserError
from clearhead.models import Transformer
from clearhead.training.checkpoint import FILE, load_checkpoint
from clearhead.training.device_settings import DeviceSettings
from clearhead.training.objective import Losses, pad_to_multiple, r_drop_loss, translation_loss
from clearhead.training.session import Session, resume, start
from clearhead.training.tasks.translation import make_model, make_plan
from tests.decoding.tiny import make_model as make_readable
from tests.training.tiny import assert_same_state, state_of, tiny_recipe, without_dropout


def losses_of(session: Session, steps: int) -> list[float]:
    return [session.trainer.step().loss for _ in range(steps)]


def test_the_same_seed_gives_the_same_losses(tmp_path: Path) -> None:
    first = losses_of(start(tiny_recipe(tmp_path), tmp_path / "a"), 5)
    again = losses_of(start(tiny_recipe(tmp_path), tmp_path / "b"), 5)
    other = losses_of(start(tiny_recipe(tmp_path, seed=2), tmp_path / "c"), 5)
    assert first == again and first != other


def test_the_objective_is_cross_entropy_of_the_next_token() -> None:
    """Written out: input <s> a b, labels a b </s>; padding neither seen nor counted."""
    model = make_readable(tie=True)
    source = torch.tensor([[5, 6, 7, 2], [8, 2, 0, 0]])
    target = torch.tensor([[9, 10, 2], [11, 2, 0]])
    shifted = torch.tensor([[1, 9, 10], [1, 11, 2]])
    logits = model(source, shifted, padding_mask(source, 0), decoder_mask(shifted, 0))
    expected = F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=0)
    ours = translation_loss(model, source.numpy(), target.numpy(), 0.0)
    assert ours.tokens == 5
    torch.testing.assert_close(ours.nll / 5, expected.detach())


@pytest.mark.parametrize("r_drop", [0.0, 5.0])
def test_who_agrees_with_itself_has_the_plain_loss(r_drop: float) -> None:
    """Without dropout both passes are the same, and nothing is left to agree upon."""
    model = make_readable(tie=True)
    source, target = np.array([[5, 6, 7, 2], [8, 2, 0, 0]]), np.array([[9, 10, 2], [11, 2, 0]])
    plain = translation_loss(model, source, target, 0.1)
    ours = r_drop_loss(model, source, target, 0.1, r_drop)
    assert ours.tokens == plain.tokens == 5
    torch.testing.assert_close(ours.smoothed, plain.smoothed)
    torch.testing.assert_close(ours.nll, plain.nll)


def test_disagreement_is_added_to_the_loss() -> None:
    """The same dropout, drawn again: what a r_drop adds is proportional to it."""
    model = make_readable(tie=True).train()
    source, target = np.array([[5, 6, 7, 2]]), np.array([[9, 10, 2]])
    found = []
    for r_drop in (0.0, 1.0, 3.0):
        torch.manual_seed(3)
        found.append(float(r_drop_loss(model, source, target, 0.1, r_drop).smoothed.detach()))
    assert found[1] > found[0] + 1e-3
    assert found[2] - found[0] == pytest.approx(3 * (found[1] - found[0]), rel=1e-4)


def test_padding_changes_no_loss() -> None:
    model = make_readable()
    source, target = torch.tensor([[8, 9, 2]]), torch.tensor([[11, 2]])
    plain = translation_loss(model, source.numpy(), target.numpy(), 0.1)
    padded = translation_loss(
        model, F.pad(source, (0, 4)).numpy(), F.pad(target, (0, 3)).numpy(), 0.1
    )
    torch.testing.assert_close(padded.smoothed, plain.smoothed)
    assert padded.tokens == plain.tokens == 2


def test_two_batches_in_one_step_are_the_sum_of_two(tmp_path: Path) -> None:
    """The gradient of a step is the mean over all its tokens, whatever batch they came in."""
    recipe = without_dropout(tiny_recipe(tmp_path, accumulate=2))
    session = start(recipe, tmp_path / "run")
    reference = make_model(recipe, session.task.tokenizer.vocab_size)
    reference.load_state_dict(session.trainer.model.state_dict())
    batches = TokenBatches(
        session.trainer.batches.corpus, make_plan(recipe, session.task.tokenizer)
    )
    total, tokens = torch.zeros(()), 0
    for _ in range(2):
        batch = next(batches)
        losses = translation_loss(reference, batch.source, batch.target, 0.1)
        total, tokens = total + losses.smoothed, tokens + losses.tokens
    (total / tokens).backward()
    norm = torch.cat(
        [p.grad.flatten() for p in reference.parameters() if p.grad is not None]
    ).norm()
    report = session.trainer.step()
    assert report.tokens == tokens
    assert report.loss == pytest.approx(float(total.detach()) / tokens, rel=1e-5)
    assert report.grad_norm == pytest.approx(float(norm), rel=1e-4)


class Readable:
    """The step as a beginner writes it: the readable model, `F.cross_entropy`, AdamW."""

    def __init__(self, model: Transformer) -> None:
        self.model = model.train()
        self.adam = torch.optim.AdamW(
            model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0
        )

    def step(self, source: Tensor, labels: Tensor, lr: float) -> float:
        shifted = F.pad(labels[:, :-1], (1, 0), value=1)
        masks = padding_mask(source, 0), decoder_mask(shifted, 0)
        output = self.model(source, shifted, *masks)  # (batch, tgt_len, vocab)
        loss = F.cross_entropy(
            output.flatten(0, 1), labels.flatten(), ignore_index=0, label_smoothing=0.1
        )
        self.adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.adam.param_groups[0]["lr"] = lr
        self.adam.step()
        return float(loss.detach())


def test_fast_and_readable_agree_over_200_steps(tmp_path: Path) -> None:
    """What the bar asks for: float32, one seed, no dropout, 1e-4 in loss."""
    recipe = without_dropout(tiny_recipe(tmp_path, steps=200))
    session = start(recipe, tmp_path / "run")
    reference = Readable(make_model(recipe, session.task.tokenizer.vocab_size))
    reference.model.load_state_dict(session.trainer.model.state_dict())
    batches = TokenBatches(
        session.trainer.batches.corpus, make_plan(recipe, session.task.tokenizer)
    )
    worst = 0.0
    for _ in range(200):
        batch, report = next(batches), session.trainer.step()
        source, labels = torch.from_numpy(batch.source), torch.from_numpy(batch.target)
        worst = max(worst, abs(report.loss - reference.step(source, labels, report.lr)))
    assert worst <= 1e-4


@pytest.mark.parametrize("width", [1, 7, 8, 9, 62])
def test_where_lengths_go_in_steps_padding_is_added_and_no_loss_changes(
    width: int, session: Session
) -> None:
    ids = np.full((3, width), 5, dtype=np.int64)
    ids[:, -1] = session.task.tokenizer.eos_id
    padded = pad_to_multiple(ids, 8, 64, pad_id=0)
    assert padded.shape == (3, -(-width // 8) * 8)
    model = session.trainer.model.eval()
    plain, more = (translation_loss(model, side, side, 0.1) for side in (ids, padded))
    torch.testing.assert_close(more.smoothed, plain.smoothed)
    assert more.tokens == plain.tokens
    assert pad_to_multiple(ids, 50, 64, pad_id=0).shape[1] in (50, 64)  # the model has 64 positions


def test_on_a_ground_with_steps_every_batch_is_padded_to_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = losses_of(start(without_dropout(tiny_recipe(tmp_path)), tmp_path / "a"), 3)
    monkeypatch.setattr(DeviceSettings, "length_multiple", 8)
    widths: list[int] = []
    embed = Transformer.encode
    monkeypatch.setattr(
        Transformer,
        "encode",
        lambda m, src, mask: widths.append(src.shape[1]) or embed(m, src, mask),
    )
    padded = losses_of(start(without_dropout(tiny_recipe(tmp_path)), tmp_path / "b"), 3)
    assert padded == pytest.approx(plain, rel=1e-5)
    assert len(widths) == 3 and not any(width % 8 for width in widths)


def poison(session: Session, bad_steps: range) -> None:
    """Make the loss infinite in those calls."""
    calls = iter(range(1, 1000))
    healthy = session.trainer.objective

    def poisoned(model: nn.Module, batch: Any) -> Losses:
        losses = healthy(model, batch)
        if next(calls) in bad_steps:
            return losses._replace(smoothed=losses.smoothed * float("inf"))
        return losses

    session.trainer.objective = poisoned


def test_a_step_that_is_not_finite_is_skipped_and_counted(
    session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    poison(session, range(2, 3))
    session.trainer.step()
    before = session.trainer.optimizer.state()["master"].clone()
    report = session.trainer.step()
    assert not report.finite and session.progress.skipped == 1
    assert torch.equal(session.trainer.optimizer.state()["master"], before)
    assert "step 2 skipped" in caplog.text
    assert session.trainer.step().finite
    assert (session.progress.skipped, session.progress.skipped_in_a_row) == (1, 0)
    assert not torch.equal(session.trainer.optimizer.state()["master"], before)


def test_ten_in_a_row_stop_with_advice_and_the_checkpoint_is_good(
    session: Session, tmp_path: Path
) -> None:
    poison(session, range(2, 100))
    with pytest.raises(UserError, match=r"10 steps in a row .*lower --set optimizer\.peak_lr"):
        session.train()
    progress, tensors = load_checkpoint(tmp_path / "run" / "last")
    assert progress.step == 9 and progress.skipped == 8
    assert all(t.isfinite().all() for t in tensors.values() if t.is_floating_point())


def test_a_run_goes_on_after_skipped_steps_as_if_it_had_not_stopped(tmp_path: Path) -> None:
    recipe = tiny_recipe(tmp_path)
    whole = start(recipe, tmp_path / "whole")
    poison(whole, range(2, 4))
    whole.train()
    session = start(recipe, tmp_path / "stopped")
    poison(session, range(2, 4))
    for _ in range(4):
        session.trainer.step()
    session.checkpoints.save_last()
    again = resume(tmp_path / "stopped")
    assert again.progress.skipped == 2
    again.train()
    assert_same_state(state_of(again), state_of(whole))


def test_weights_that_are_nan_are_never_saved(session: Session, tmp_path: Path) -> None:
    session.trainer.step()
    session.checkpoints.save_last()
    files = list((tmp_path / "run" / "last").iterdir())
    before = {p: p.read_bytes() for p in files}
    session.trainer.optimizer.master[5] = float("nan")
    with pytest.raises(UserError, match="holds NaN or infinity"):
        session.checkpoints.save_last()
    assert before == {p: p.read_bytes() for p in files}
    assert (tmp_path / "run" / "last" / FILE) in before


def test_compiled_layers_compute_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = losses_of(start(tiny_recipe(tmp_path), tmp_path / "a"), 2)
    asked: list[object] = []
    monkeypatch.setattr(
        nn.Module, "compile", lambda self, **options: asked.append((type(self).__name__, options))
    )
    compiled = losses_of(start(tiny_recipe(tmp_path, compile=True), tmp_path / "b"), 2)
    assert compiled == plain
    assert asked == [("Encoder", {"dynamic": True}), ("Decoder", {"dynamic": True})]
