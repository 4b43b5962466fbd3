from dataclasses import replace
from pathlib import Path

import pytest
import torch

from benchmarks.quality.contest import POINTS, Contest, Limits
from benchmarks.quality.points import Point, read_points
from benchmarks.quality.sides import ClearheadSide, SharedTask, TorchSide
from clearhead.blocks import decoder_mask, padding_mask, shift_right
from clearhead.models import Transformer
from clearhead.training.model_recipes import TranslationRecipe
from clearhead.training.recipe_file import load_recipe

TINY = [
    "data.train=grammar:train:120", "data.dev=grammar:dev:7", "vocabulary.size=400",
    "model.d_model=24", "model.h=3", "model.d_ff=40", "model.encoder_layers=2",
    "model.decoder_layers=1", "model.seq_len=64", "run.batch_tokens=200", "run.steps=5",
    "optimizer.warmup=3", "run.precision=fp32",
]  # fmt: skip
ONE_STEP = Limits(slice_minutes=1e-9, minutes=1e9, choose_after=1e9, targets=(99.0,))
RATES, WARMUP = (1e-3, 4e-3), 2


@pytest.fixture
def task(tmp_path: Path) -> SharedTask:
    return tiny_task(tmp_path / "task")


def tiny_task(directory: Path, device: str = "cpu") -> SharedTask:
    recipe = load_recipe("first_light", [*TINY, f"run.device={device}"])
    assert isinstance(recipe, TranslationRecipe)
    return SharedTask.prepare(recipe, directory)


def contest(task: SharedTask, directory: Path, limits: Limits = ONE_STEP) -> Contest:
    return Contest(task, directory, RATES, WARMUP, limits, say=lambda line: None)


def fresh(task: SharedTask, seed: int = 3) -> Transformer:
    torch.manual_seed(seed)
    return Transformer.from_config(task.config)


def weights(side: ClearheadSide | TorchSide, task: SharedTask) -> dict[str, torch.Tensor]:
    model = fresh(task, seed=8)
    side.weights_into(model)
    return model.state_dict()


def without_seconds(points: dict[str, list[Point]]) -> list[Point]:
    return [replace(point, seconds=0.0) for own in points.values() for point in own]


def test_both_sides_start_from_the_same_weights(task: SharedTask) -> None:
    model = fresh(task)
    expected = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    theirs = TorchSide(task, model, 1e-3, WARMUP)
    ours = ClearheadSide(task, model)
    for side in (theirs, ours):
        for name, tensor in weights(side, task).items():
            torch.testing.assert_close(tensor, expected[name])


def test_the_trained_torch_model_is_the_same_function_under_our_names(task: SharedTask) -> None:
    side = TorchSide(task, fresh(task), 4e-3, WARMUP)
    for _ in range(4):
        side.step()
    ours = fresh(task, seed=8).eval()
    side.weights_into(ours)
    batch = next(task.batches())
    src, labels = torch.from_numpy(batch.source), torch.from_numpy(batch.target)
    tgt, pad_id = shift_right(labels, task.config.bos_id), task.config.pad_id
    with torch.no_grad():
        theirs = side.model.eval()(src, tgt).log_softmax(-1)
        found = ours(src, tgt, padding_mask(src, pad_id), decoder_mask(tgt, pad_id))
    real = labels != pad_id
    torch.testing.assert_close(found[real], theirs[real], atol=2e-3, rtol=0)


def test_the_sides_have_as_many_parameters(task: SharedTask) -> None:
    model = fresh(task)
    theirs = TorchSide(task, model, 1e-3, WARMUP).model
    assert sum(p.numel() for p in theirs.parameters()) == sum(p.numel() for p in model.parameters())


def test_all_sides_learn_from_the_same_batches(task: SharedTask, tmp_path: Path) -> None:
    held = contest(task, tmp_path / "a")
    for _ in range(3):
        held.round()
    tokens = {tuple(point.tokens for point in own) for own in held.points.values()}
    assert len(tokens) == 1
    assert [point.step for point in held.points["clearhead"]] == [1, 2, 3]


def test_training_lowers_the_loss_of_torch(task: SharedTask) -> None:
    """Teacher-forced loss on the first batch, before and after 40 steps."""
    side = TorchSide(task, fresh(task), 4e-3, WARMUP)
    batch = next(task.batches())
    src, labels = torch.from_numpy(batch.source), torch.from_numpy(batch.target)

    def loss() -> float:
        with torch.no_grad():
            logits = side.model(src, shift_right(labels, task.config.bos_id))
        return float(
            torch.nn.functional.cross_entropy(
                logits.flatten(0, 1), labels.flatten(), ignore_index=task.config.pad_id
            )
        )

    before = loss()
    for _ in range(40):
        side.step()
    assert loss() < before - 0.5


def test_a_stopped_contest_continues_exactly(task: SharedTask, tmp_path: Path) -> None:
    check_resumption(task, tmp_path)


def check_resumption(task: SharedTask, tmp_path: Path) -> None:
    whole, stopped = contest(task, tmp_path / "whole"), contest(task, tmp_path / "stopped")
    for _ in range(4):
        whole.round()
    for _ in range(2):
        stopped.round()
    again = contest(task, tmp_path / "stopped")
    for _ in range(2):
        again.round()
    assert without_seconds(again.points) == without_seconds(whole.points)
    for a, b in zip(whole.runners, again.runners, strict=True):
        assert isinstance(a.side, ClearheadSide | TorchSide)
        assert isinstance(b.side, ClearheadSide | TorchSide)
        ours, theirs = weights(a.side, task), weights(b.side, task)
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_a_kill_before_the_evaluation_repeats_no_training(task: SharedTask, tmp_path: Path) -> None:
    first = contest(task, tmp_path / "a")
    first.round()
    path = tmp_path / "a" / POINTS
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text(lines[0], encoding="utf-8")
    again = contest(task, tmp_path / "a")
    again.round()
    steps = {name: [point.step for point in own] for name, own in again.points.items()}
    assert list(steps.values()) == [[1, 2], [1], [1]]
    assert len(read_points(path)) == 4


def test_our_side_ends_with_its_recipe_and_a_side_at_its_target(
    task: SharedTask, tmp_path: Path
) -> None:
    held = contest(task, tmp_path / "a", replace(ONE_STEP, minutes=1e-9))
    held.run()
    assert [len(own) for own in held.points.values()] == [1, 1, 1]
    reached = contest(task, tmp_path / "b", replace(ONE_STEP, targets=(0.0,)))
    reached.run()
    assert [len(own) for own in reached.points.values()] == [1, 1, 1]
    ours = contest(task, tmp_path / "c")
    for _ in range(7):
        ours.round()
    assert [own[-1].step for own in ours.points.values()] == [5, 7, 7]


def test_the_better_learning_rate_continues(task: SharedTask, tmp_path: Path) -> None:
    held = contest(task, tmp_path / "a", replace(ONE_STEP, choose_after=1e-9))
    held.round()
    _, low, high = held.runners
    low.points = [replace(low.points[0], bleu=4.0)]
    high.points = [replace(high.points[0], bleu=5.0)]
    held.round()
    assert [len(own) for own in held.points.values()] == [2, 1, 2]
