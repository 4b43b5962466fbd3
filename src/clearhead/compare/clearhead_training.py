"""Our own training step, exactly as `clearhead train` makes it: batch, loss, update, report."""

from collections.abc import Iterator

import torch

from clearhead.compare.race import Contestant
from clearhead.compare.task import LEARNING_RATE, SMOOTHING, Task
from clearhead.data.batching import TokenBatches
from clearhead.fast.processor import multiplies_bfloat16
from clearhead.models import Transformer, TransformerConfig
from clearhead.training.objective import make_objective
from clearhead.training.precision import Precision, choose_ground
from clearhead.training.trainer import Trainer
from clearhead.training.translation_recipe import (
    TranslationOptimizer,
    TranslationRecipe,
    TranslationRun,
)

NAME = "clearhead"
WORDS: dict[Precision, str] = {
    "fp32": "float32",
    "bf16": "bfloat16 weights, float32 masters",
}


def make_trainer(
    config: TransformerConfig,
    batches: TokenBatches,
    device: torch.device,
    precision: Precision,
    compiled: bool = False,
) -> Trainer:
    """A fresh model with its optimiser; the recipe's defaults where the race fixes nothing."""
    optimizer = TranslationOptimizer(
        schedule="constant", peak_lr=LEARNING_RATE, warmup=1, label_smoothing=SMOOTHING
    )
    recipe = TranslationRecipe(optimizer=optimizer, run=TranslationRun(compile=compiled))
    ground = choose_ground(str(device), precision)
    objective = make_objective(SMOOTHING, optimizer.consistency, ground.length_step)
    return Trainer(recipe, Transformer.from_config(config), batches, objective, ground)


def precisions(device: torch.device) -> list[Precision]:
    """The number formats that we race in on this device."""
    return ["fp32", "bf16"] if multiplies_bfloat16(device) else ["fp32"]


def contestants(task: Task) -> Iterator[Contestant]:
    """In every number format; on a GPU compiled, too."""
    for precision in precisions(task.device):
        yield _contestant(task, precision, compiled=False)
        if task.device.type == "cuda":
            yield _contestant(task, precision, compiled=True)


def _contestant(task: Task, precision: Precision, compiled: bool) -> Contestant:
    trainer = make_trainer(task.config, task.batches(), task.device, precision, compiled)
    name = f"{NAME}, {WORDS[precision]}{', compiled' if compiled else ''}"
    return Contestant(name, lambda: float(trainer.step().tokens))
