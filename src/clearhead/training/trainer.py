"""The loop: a batch, its loss, a step; now and then a look at the dev set and a checkpoint."""

import dataclasses
import time
from dataclasses import dataclass
from pathlib import Path

import torch

from clearhead.data.batching import BatchPlan, TokenBatches
from clearhead.errors import UserError
from clearhead.fast.accelerate import accelerate
from clearhead.fast.flat_adam import FlatAdam
from clearhead.models.config import TransformerConfig
from clearhead.models.transformer import Transformer
from clearhead.text import Tokenizer
from clearhead.training.checkpoint import Progress, load_checkpoint, save_checkpoint
from clearhead.training.objective import translation_loss
from clearhead.training.precision import Ground
from clearhead.training.recipe import Recipe
from clearhead.training.schedule import make_schedule

GIVE_UP = 10  # steps in a row without a finite gradient


@dataclass
class StepReport:
    """What one optimiser step measured."""

    step: int
    epoch: int
    loss: float  # smoothed, nats a token
    nll: float  # plain, nats a token
    lr: float
    grad_norm: float
    tokens: int  # target tokens
    seconds: float
    finite: bool


class Trainer:
    """A model, its optimiser and its place in the data; `step` moves all three on."""

    def __init__(self, recipe: Recipe, model: Transformer, batches: TokenBatches, ground: Ground):
        self.recipe, self.batches, self.ground = recipe, batches, ground
        self.model = accelerate(model).to(ground.device).train()
        o = recipe.optimizer
        self.optimizer = FlatAdam(self.model, o.betas, o.eps, o.weight_decay, ground.dtype)
        self.schedule = make_schedule(
            o.schedule, o.peak_lr, o.warmup, recipe.run.steps, model.config.d_model
        )
        self.progress = Progress()
        self.loss = torch.compile(translation_loss) if recipe.run.compile else translation_loss

    def step(self) -> StepReport:
        """One update of the weights.

        Raises:
            UserError: ten updates in a row had no finite gradient.
        """
        began = time.perf_counter()
        smoothed = nll = 0.0
        tokens, epoch = 0, self.batches.epoch
        for _ in range(self.recipe.run.accumulate):
            batch = next(self.batches)
            smoothing = self.recipe.optimizer.label_smoothing
            losses = self.loss(self.model, batch.source, batch.target, smoothing)
            losses.smoothed.backward()
            self.optimizer.accumulate()
            smoothed, nll = smoothed + float(losses.smoothed), nll + float(losses.nll)
            tokens += losses.tokens
        lr = self.schedule(self.progress.step + 1)
        finite = self.optimizer.step(lr, 1 / tokens, self.recipe.optimizer.clip_norm)
        seconds = time.perf_counter() - began
        self._advance(finite, tokens, seconds)
        return StepReport(
            step=self.progress.step,
            epoch=epoch,
            loss=smoothed / tokens,
            nll=nll / tokens,
            lr=lr,
            grad_norm=self.optimizer.grad_norm,
            tokens=tokens,
            seconds=seconds,
            finite=finite,
        )

    def _advance(self, finite: bool, tokens: int, seconds: float) -> None:
        p = self.progress
        p.step, p.tokens, p.seconds = p.step + 1, p.tokens + tokens, p.seconds + seconds
        p.data = self.batches.state()
        p.skipped += not finite
        p.skipped_in_a_row = 0 if finite else p.skipped_in_a_row + 1
        if p.skipped_in_a_row >= GIVE_UP:
            raise UserError(
                f"{GIVE_UP} steps in a row had no finite gradient (last at step {p.step}); "
                "resume with a lower --set optimizer.peak_lr=…, a longer optimizer.warmup, "
                "or --set run.precision=fp32"
            )

    def save(self, directory: Path) -> None:
        """Write the checkpoint that `restore` reads."""
        save_checkpoint(directory, self.progress, self.optimizer.state())

    def restore(self, directory: Path) -> None:
        """Go on exactly where the checkpoint was written."""
        self.progress, tensors = load_checkpoint(directory)
        self.optimizer.restore(tensors)
        self.batches.restore(self.progress.data)


def make_model(recipe: Recipe, tokenizer: Tokenizer) -> Transformer:
    """The recipe's model, from a preset or from another model's weights."""
    if recipe.model.path:
        return Transformer.from_pretrained(recipe.model.path)
    return Transformer.from_config(make_config(recipe, tokenizer))


def make_config(recipe: Recipe, tokenizer: Tokenizer) -> TransformerConfig:
    """The preset of that size with what the recipe changes in it."""
    m = recipe.model
    changes = {
        "src_seq_len": m.seq_len,
        "tgt_seq_len": m.seq_len,
        "norm": m.norm,
        "tie_embeddings": m.tie_embeddings,
    }
    for name in ("d_model", "encoder_layers", "decoder_layers", "h", "d_ff", "dropout"):
        if (value := getattr(m, name)) is not None:
            changes[name] = value
    return dataclasses.replace(TransformerConfig.preset(m.size, tokenizer.vocab_size), **changes)


def batch_plan(recipe: Recipe, tokenizer: Tokenizer) -> BatchPlan:
    """How the recipe cuts its corpus into batches."""
    return BatchPlan(
        max_tokens=recipe.run.batch_tokens,
        window=recipe.run.window,
        seed=recipe.run.seed,
        pad_id=tokenizer.pad_id,
        eos_id=tokenizer.eos_id,
    )
