"""A run that takes a second: a made-up language, a model of a few thousand numbers."""

import random
from pathlib import Path

import pytest
import torch
from torch import Tensor

from clearhead.training.recipe import Recipe
from clearhead.training.recipe_file import build_recipe
from clearhead.training.session import Session

WORDS = {"one": "un", "two": "deux", "red": "rouge", "cat": "chat", "sees": "voit", "and": "et"}


def write_corpus(path: Path, pairs: int, seed: int = 1) -> Path:
    """Sentences of two to seven words, translated word by word, in reverse."""
    rng = random.Random(seed)
    lines = []
    for _ in range(pairs):
        words = rng.choices(list(WORDS), k=rng.randint(2, 7))
        lines.append(f"{' '.join(words)}\t{' '.join(WORDS[w] for w in reversed(words))}\n")
    path.write_text("".join(lines), encoding="utf-8", newline="\n")
    return path


def tiny_recipe(
    folder: Path, optimizer: str = "adam", r_drop: float = 0.0, **run: object
) -> Recipe:
    """12 steps of a 1+1 layer model, checkpoint every 3, evaluation every 4."""
    folder.mkdir(parents=True, exist_ok=True)
    values = {
        "data": {
            "train": str(write_corpus(folder / "train.tsv", 300)),
            "dev": str(write_corpus(folder / "dev.tsv", 8, seed=2)),
        },
        "vocabulary": {"size": 300},
        "model": {
            "size": "tiny",
            "d_model": 16,
            "d_ff": 24,
            "h": 2,
            "encoder_layers": 1,
            "decoder_layers": 1,
            "seq_len": 64,
            "dropout": 0.2,
        },
        "optimizer": {
            "name": optimizer,
            "warmup": 4,
            "peak_lr": 0.01,
            "r_drop": r_drop,
        },
        "run": {
            "steps": 12,
            "batch_tokens": 400,
            "window": 100,
            "device": "cpu",
            "precision": "fp32",
            "threads": 1,
            "log_every": 5,
            "eval_every": 4,
            "save_every": 3,
            "average": 2,
            "samples": 1,
            **run,
        },
    }
    return build_recipe(values, "the test's recipe")


def without_dropout(recipe: Recipe) -> Recipe:
    return recipe.model_copy(update={"model": recipe.model.model_copy(update={"dropout": 0.0})})


def state_of(session: Session) -> dict[str, Tensor]:
    """Everything that the next step depends on."""
    state = {name: tensor.clone() for name, tensor in session.trainer.optimizer.state().items()}
    return state | {"random": torch.get_rng_state()}


def assert_same_state(ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> None:
    assert ours.keys() == theirs.keys()
    different = [name for name in ours if not torch.equal(ours[name], theirs[name])]
    assert not different


class Killed(BaseException):
    """Like SIGKILL: nothing in the house catches it."""


def kill_after(monkeypatch: pytest.MonkeyPatch, session: Session, step: int) -> None:
    """Let the session die as soon as the trainer has made that step."""
    original = session.trainer.step

    def dying() -> object:
        report = original()
        if report.step == step:
            raise Killed
        return report

    monkeypatch.setattr(session.trainer, "step", dying)
