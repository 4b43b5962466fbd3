"""The two sides: clearhead's trainer, and `torch.nn.Transformer` in the loop that its users write.

Both start from the same weights and get the same batches, label smoothing, dropout and gradient
clipping. On torch's side Adam is fused; the learning rate has a warm-up and falls with the inverse
square root of the step; on devices that multiply bfloat16 faster it runs under autocast.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import sacrebleu
import torch
from torch import Tensor, nn

from clearhead.compare.proofs import shared_weights as shared
from clearhead.compare.training_benchmark import TORCH
from clearhead.compare.training_peers import TorchTransformer, peer_loss
from clearhead.data.batching import TokenBatches
from clearhead.data.encoded import EncodedCorpus
from clearhead.data.pairs import Pair
from clearhead.decoding import DecodingOptions
from clearhead.decoding.native import NativeEngine
from clearhead.fast.processor import multiplies_bfloat16
from clearhead.models import Transformer, TransformerConfig
from clearhead.models.native import native_model
from clearhead.text import Tokenizer
from clearhead.training.checkpoint import load_checkpoint, save_checkpoint
from clearhead.training.device_settings import choose_device, choose_device_settings
from clearhead.training.metrics import Progress
from clearhead.training.model_recipes import TranslationRecipe, make_config
from clearhead.training.objective import make_objective
from clearhead.training.recipe import make_schedule
from clearhead.training.tasks.translation import (
    make_plan,
    prepare_corpus,
    prepare_dev,
    prepare_tokenizer,
)
from clearhead.training.trainer import Trainer

MOMENTS = ("step", "exp_avg", "exp_avg_sq")  # what Adam keeps of a parameter


@dataclass(frozen=True)
class SharedTask:
    """Sizes, tokenizer, training pairs and dev pairs: the same for every side."""

    recipe: TranslationRecipe
    config: TransformerConfig
    tokenizer: Tokenizer
    corpus: EncodedCorpus
    dev: list[Pair]

    @classmethod
    def prepare(cls, recipe: TranslationRecipe, directory: Path) -> "SharedTask":
        """Learn the tokenizer and encode the corpus, or open what an earlier start made."""
        directory.mkdir(parents=True, exist_ok=True)
        tokenizer = prepare_tokenizer(recipe, directory)
        config = make_config(recipe, tokenizer.vocab_size)
        corpus = prepare_corpus(recipe, tokenizer, directory / "data", config.src_seq_len)
        dev = prepare_dev(recipe, directory / "data" / "dev.jsonl")
        return cls(recipe, config, tokenizer, corpus, dev)

    @property
    def device(self) -> torch.device:
        """Where every side trains: `run.device` of the recipe."""
        return choose_device(self.recipe.run.device)

    def batches(self) -> TokenBatches:
        """The batches in the order that every side gets them."""
        return TokenBatches(self.corpus, make_plan(self.recipe, self.tokenizer))


def finished(device: torch.device) -> float:
    """The time in seconds at which the device has done all that was started on it."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


class Side(Protocol):
    """One way to train the model of the task."""

    @property
    def name(self) -> str:
        """How tables and the plot call it."""

    @property
    def progress(self) -> Progress:
        """Steps, target tokens and seconds of training so far."""

    def step(self) -> None:
        """One update; its seconds are added to `progress`."""

    def weights_into(self, model: Transformer) -> None:
        """Copy the float32 weights into a clearhead model of the same sizes."""

    def save(self, directory: Path) -> None:
        """Write a checkpoint."""

    def restore(self, directory: Path) -> None:
        """Continue from a checkpoint."""


class ClearheadSide:
    """What `clearhead train RECIPE` does between two evaluations."""

    name = "clearhead"

    def __init__(self, task: SharedTask, model: Transformer) -> None:
        recipe, run = task.recipe, task.recipe.run
        settings = choose_device_settings(run.device, run.precision, run.engine)
        o = recipe.optimizer
        objective = make_objective(
            o.label_smoothing, o.r_drop, settings.length_multiple, settings.engine.token_loss
        )
        self.trainer = Trainer(recipe, model, task.batches(), objective, settings)

    @property
    def progress(self) -> Progress:
        """Of the trainer."""
        return self.trainer.progress

    def step(self) -> None:
        """One update; the clock includes what the trainer does after its own measurement."""
        began, before = time.perf_counter(), self.progress.seconds
        self.trainer.step()
        self.progress.seconds = before + finished(self.trainer.settings.device) - began

    def weights_into(self, model: Transformer) -> None:
        """The float32 master weights."""
        with self.trainer.master_weights():
            model.load_state_dict(self.trainer.model.state_dict())

    def save(self, directory: Path) -> None:
        """As `clearhead train` does."""
        self.trainer.save(directory)

    def restore(self, directory: Path) -> None:
        """As `clearhead train --resume` does."""
        self.trainer.restore(directory)


class TorchSide:
    """One learning rate; `peak` is reached after `warmup` steps."""

    def __init__(self, task: SharedTask, model: Transformer, peak: float, warmup: int) -> None:
        o = task.recipe.optimizer
        self.name = f"{TORCH}, Adam {peak:g}"
        self.config, self.clip, self.smoothing = task.config, o.clip_norm, o.label_smoothing
        self.batches, self.progress = task.batches(), Progress()
        self.model, self.device = TorchTransformer(task.config).train(), task.device
        shared.copy_weights(self._pairs(model))
        self.model.to(self.device)
        self.autocast = multiplies_bfloat16(self.device)
        self.schedule = make_schedule("inverse_sqrt", peak, warmup, 1, task.config.d_model)
        self.adam = torch.optim.Adam(
            self.model.parameters(), lr=peak, betas=(0.9, 0.98), eps=1e-9, fused=True
        )

    def step(self) -> None:
        """One update."""
        began = time.perf_counter()
        batch, p = next(self.batches), self.progress
        for group in self.adam.param_groups:
            group["lr"] = self.schedule(p.step + 1)
        source, labels = (
            torch.from_numpy(ids).to(self.device) for ids in (batch.source, batch.target)
        )
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.autocast):
            loss = peer_loss(self.model, self.config, source, labels, self.smoothing)
        loss.backward()
        if self.clip:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.adam.step()
        self.adam.zero_grad(set_to_none=True)
        p.step, p.tokens = p.step + 1, p.tokens + batch.target_tokens
        p.seconds += finished(self.device) - began

    def weights_into(self, model: Transformer) -> None:
        """torch's weights under clearhead's names."""
        shared.copy_weights_back(self._pairs(model))

    def save(self, directory: Path) -> None:
        """Weights, moments, the position in the data and the random state."""
        self.progress.data = self.batches.state()
        save_checkpoint(directory, self.progress, self._state())

    def restore(self, directory: Path) -> None:
        """Continue from what `save` wrote."""
        self.progress, tensors = load_checkpoint(directory)
        self.batches.restore(self.progress.data)
        with torch.no_grad():
            for name, parameter in self.model.named_parameters():
                parameter.copy_(tensors[name])
                moments = {key: tensors[f"{name}.{key}"].to(self.device) for key in MOMENTS}
                self.adam.state[parameter] = moments

    def _state(self) -> dict[str, Tensor]:
        state = {}
        for name, parameter in self.model.named_parameters():
            state[name] = parameter.detach()
            for key in MOMENTS:
                state[f"{name}.{key}"] = self.adam.state[parameter][key]
        return state

    def _pairs(self, model: Transformer) -> list[shared.WeightPair]:
        return list(shared.transformer_pairs(model, self.model))


class GreedyBleu:
    """Called with a side; every side's weights are decoded in the same clearhead model."""

    def __init__(self, task: SharedTask) -> None:
        self.config, self.tokenizer, self.dev = task.config, task.tokenizer, task.dev
        limit, eos = task.config.src_seq_len - 1, task.config.eos_id
        encoded = task.tokenizer.encode_batch([pair.source for pair in task.dev])
        self.sources = [[*ids[:limit], eos] for ids in encoded]

    def __call__(self, side: Side) -> float:
        """sacreBLEU with its default tokenization."""
        with torch.random.fork_rng(devices=[]):  # the initial weights are replaced
            model = Transformer.from_config(self.config).eval()
        side.weights_into(model)
        engine = NativeEngine(self.config, native_model(model), torch.get_num_threads())
        found = engine.decode(self.sources, DecodingOptions(beam_size=1, scores=False))
        translations = [self.tokenizer.decode(best[0].ids) for best in found]
        references = [pair.target for pair in self.dev]
        return float(sacrebleu.corpus_bleu(translations, [references]).score)
