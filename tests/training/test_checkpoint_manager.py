"""What a run saves: the best model, the last snapshots, and their mean."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from clearhead.errors import UserError
from clearhead.models import Transformer
from clearhead.models.weights import read_tensors
from clearhead.text import Tokenizer
from clearhead.training.checkpoint import average_snapshots, list_snapshots, save_snapshot
from clearhead.training.checkpoint_manager import model_card
from clearhead.training.metrics import Progress
from clearhead.training.recipe import Data
from clearhead.training.recipe_file import build_recipe
from clearhead.training.session import Session, resume, start
from clearhead.training.task import ValidationResult
from tests.decoding.tiny import make_model
from tests.training.tiny import tiny_recipe


def validated_with(
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    scores: list[float],
    losses: Sequence[float] = (),
) -> list[float]:
    """Let the validations have these BLEU scores; unused ones are left in the list."""
    rest = list(losses)

    def validate(model: object, samples: int) -> ValidationResult:
        loss = rest.pop(0) if rest else 1.0
        return ValidationResult(loss=loss, size=8, scores={"bleu": scores.pop(0)}, samples=[])

    monkeypatch.setattr(session.task, "validate", validate)
    return scores


def test_the_average_is_the_mean_and_always_the_same_bits(tmp_path: Path) -> None:
    models = [make_model(seed=seed, tie=True) for seed in range(3)]
    for step, model in enumerate(models):
        save_snapshot(model, tmp_path, step, keep=5)
    paths = list_snapshots(tmp_path)
    average = average_snapshots(paths)
    for name, parameter in models[0].named_parameters():
        mean = torch.stack([m.get_parameter(name).double() for m in models]).mean(0).float()
        torch.testing.assert_close(average[name], mean.detach(), rtol=0, atol=1e-7)
        assert parameter.shape == average[name].shape
    again = average_snapshots(paths)
    assert all(torch.equal(average[name], again[name]) for name in average)


def test_the_average_of_one_model_is_that_model(tmp_path: Path) -> None:
    model = make_model()
    for step in range(4):
        save_snapshot(model, tmp_path, step, keep=4)
    average = average_snapshots(list_snapshots(tmp_path))
    assert all(torch.equal(average[name], p) for name, p in model.named_parameters())


def test_only_the_last_snapshots_are_kept_in_the_order_of_their_steps(tmp_path: Path) -> None:
    for step in (5, 50, 500, 9):
        save_snapshot(make_model(), tmp_path, step, keep=3)
    assert [int(p.stem) for p in list_snapshots(tmp_path)] == [9, 50, 500]


def test_without_snapshots_the_error_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no snapshots"):
        average_snapshots(list_snapshots(tmp_path))


@pytest.mark.parametrize(("patience", "steps"), [(0, 12), (1, 8), (2, 12)])
def test_patience_counts_evaluations_without_a_better_one(
    patience: int, steps: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = start(tiny_recipe(tmp_path, patience=patience, average=0), tmp_path / "run")
    validated_with(session, monkeypatch, [5.0, 4.0, 5.0])  # at steps 4, 8, 12
    session.train()
    assert session.progress.step == steps
    assert (session.progress.best, session.progress.best_step) == (5.0, 4)


@pytest.mark.parametrize(
    ("losses", "steps", "best_step"),
    [
        ([5.0, 4.0, 3.0], 12, 12),
        ([4.0, 5.0, 3.0], 8, 4),
        ([5.0, 4.0, 4.0], 12, 8),
        ([5.0, float("nan"), 3.0], 8, 4),
    ],
)
def test_of_equal_scores_the_lower_loss_is_better(
    losses: list[float],
    steps: int,
    best_step: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = start(tiny_recipe(tmp_path, patience=1, average=3), tmp_path / "run")
    validated_with(session, monkeypatch, [0.0] * 4, [*losses[: steps // 4], 9.0])
    session.train()
    assert (session.progress.step, session.progress.best_step) == (steps, best_step)
    best = read_tensors(session.run.best / "model.safetensors")
    kept = read_tensors(session.run.snapshots / f"{best_step:09}.safetensors")
    assert all(torch.equal(best[name], kept[name]) for name in best)


@pytest.mark.parametrize(("patience", "early"), [(1, True), (2, False)])
def test_only_a_run_that_stops_early_says_so(
    patience: int,
    early: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    session = start(tiny_recipe(tmp_path, patience=patience, average=0), tmp_path / "run")
    validated_with(session, monkeypatch, [5.0, 4.0, 4.0])
    with caplog.at_level("INFO", "clearhead.train"):
        session.train()
    said = "stopped early at step 8 of 12: no improvement in 1 validations (run.patience)"
    assert (said in caplog.text, "stopped early" in caplog.text) == (early, early)


def test_the_advice_for_a_run_that_stopped_early_continues_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    recipe = tiny_recipe(tmp_path, patience=1, average=0)
    session = start(recipe, tmp_path / "run")
    validated_with(session, monkeypatch, [5.0, 4.0])
    session.train()
    with caplog.at_level("INFO", "clearhead.train"):
        resume(tmp_path / "run").train()
    assert "to train on, repeat the command with --set run.patience=0" in caplog.text
    again = resume(tmp_path / "run", tiny_recipe(tmp_path, patience=0, average=0))
    again.train()
    assert again.progress.step == 12


@pytest.mark.parametrize(
    ("before", "after", "third", "best_step"),
    [
        ("loss", "bleu", (3.0, 1.5), 4),  # a BLEU of 3 is not better than the 5 of step 4
        ("loss", "bleu", (6.0, 1.5), 12),
        ("bleu", "loss", (1.0, 0.5), 12),  # a loss of 0.5 is better than the 1.0 of step 4
        ("bleu", "loss", (6.0, 1.5), 4),
    ],
)
def test_another_metric_on_resumption_compares_with_the_best_model_in_that_metric(
    before: str,
    after: str,
    third: tuple[float, float],
    best_step: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = start(tiny_recipe(tmp_path, metric=before, steps=8, average=0), tmp_path / "run")
    validated_with(first, monkeypatch, [5.0, 4.0], [1.0, 2.0])
    first.train()
    best = (first.run.best / "model.safetensors").read_bytes()
    session = resume(tmp_path / "run", tiny_recipe(tmp_path, metric=after, average=0))
    assert session.progress.best == (5.0 if after == "bleu" else -1.0)
    assert session.progress.evaluations_since_best == 0  # patience begins anew
    validated_with(session, monkeypatch, [third[0]], [third[1]])
    session.train()
    assert session.progress.best_step == best_step
    kept = (session.run.best / "model.safetensors").read_bytes() == best
    assert kept == (best_step == 4)


def test_best_holds_the_best_and_last_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = start(tiny_recipe(tmp_path, average=3), tmp_path / "run")
    validated_with(session, monkeypatch, [1.0, 3.0, 2.0, 2.9])  # the fourth is the average
    session.train()
    run = session.run
    second = read_tensors(run.snapshots / "000000008.safetensors")
    third = read_tensors(run.snapshots / "000000012.safetensors")
    best, last = (read_tensors(p / "model.safetensors") for p in (run.best, run.last))
    assert all(torch.equal(best[name], second[name]) for name in best)
    assert all(torch.equal(last[name], third[name]) for name in last)


@pytest.mark.parametrize("score", [3.0, 3.1])
def test_the_average_becomes_best_if_its_score_is_not_lower(
    score: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = start(tiny_recipe(tmp_path, average=3), tmp_path / "run")
    validated_with(session, monkeypatch, [1.0, 3.0, 2.0, score])
    session.train()
    best = read_tensors(session.run.best / "model.safetensors")
    average = average_snapshots(list_snapshots(session.run.snapshots))
    assert all(torch.equal(best[name], average[name]) for name in best)
    assert session.progress.best == score


def test_a_first_score_of_zero_is_a_score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = start(tiny_recipe(tmp_path), tmp_path / "run")
    validated_with(session, monkeypatch, [0.0, 0.0, 0.0, -1.0])
    session.train()
    assert session.progress.best == 0.0 and session.progress.best_step == 4


def test_a_bfloat16_run_saves_its_float32_master_weights(tmp_path: Path) -> None:
    session = start(tiny_recipe(tmp_path, precision="bf16"), tmp_path / "run")
    session.trainer.step()
    session.checkpoints.save_last()
    saved = read_tensors(session.run.last / "model.safetensors")
    flat = torch.cat(
        [saved[name].flatten() for name, _ in session.trainer.model.named_parameters()]
    )
    assert torch.equal(flat, session.trainer.optimizer.master)
    assert not torch.equal(flat, flat.bfloat16().float())


def test_best_and_last_are_model_directories_with_a_card(session: Session) -> None:
    session.train()
    for directory in (session.run.best, session.run.last):
        model = Transformer.from_pretrained(directory)
        assert model.config.src_vocab_size == Tokenizer.load(directory).vocab_size
        languages = json.loads((directory / "languages.json").read_text(encoding="utf-8"))
        assert languages == {"source": "en", "target": "fr"}
        card = (directory / "README.md").read_text(encoding="utf-8")
        assert "Training data: train.tsv" in card and "Validation on dev.tsv (8 sentences" in card


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ("C:/me/train.tsv", "train.tsv"),
        ("C:/me/a.en,C:/me/a.fr + D:/b.tmx", "a.en, a.fr + b.tmx"),
        ("grammar:train:2000", "grammar:train:2000"),
    ],
)
def test_the_card_of_a_model_has_no_folder_of_the_machine(
    spec: str, shown: str, session: Session
) -> None:
    card = model_card(Data(train=spec), session.task.description, Progress())
    assert f"Training data: {shown}\n" in card


def test_the_card_of_a_model_quotes_that_of_the_model_it_started_from(tmp_path: Path) -> None:
    first = tiny_recipe(tmp_path, steps=4)
    data = first.data.model_copy(update={"attribution": "by Ada, CC BY 2.0"})
    start(first.model_copy(update={"data": data}), tmp_path / "a").train()
    card = tmp_path / "a" / "best" / "README.md"
    base = f"---\nlicense: cc-by-2.0\n---\n{card.read_text('utf-8')}"
    card.write_text(base, encoding="utf-8")
    values = tiny_recipe(tmp_path, steps=4).model_dump()
    values["model"]["path"] = str(tmp_path / "a")
    session = start(build_recipe(values, "the test's recipe"), tmp_path / "b")
    session.trainer.step()
    session.checkpoints.save_last()
    shutil.rmtree(tmp_path / "a")
    resume(tmp_path / "b").train()
    text = (tmp_path / "b" / "best" / "README.md").read_text(encoding="utf-8")
    quoted = [line.removeprefix(">").strip() for line in text.splitlines() if line.startswith(">")]
    assert quoted == [line.strip() for line in base.splitlines() if line != "---"]
    assert "license: cc-by-2.0" in quoted and "(by Ada, CC BY 2.0)" in text
    own = text.partition(">")[0]
    assert f"- Started from the model {tmp_path.name}/a, whose README.md says:" in own
    assert "by Ada" not in own


def test_validation_changes_neither_mode_nor_random_state(session: Session) -> None:
    before = torch.get_rng_state()
    session.task.validate(session.trainer.model, 1)
    assert session.trainer.model.training
    assert torch.equal(torch.get_rng_state(), before)
