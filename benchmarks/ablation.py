"""What each trick of the training step is worth: the full set, and the full set without it.

    python benchmarks/ablation.py

One batch of 128 x 16 source and target tokens, d_model 256, h 4, d_ff 1024, 3 + 3
layers, vocabulary 8,000, dropout 0.1, label smoothing 0.1. Every round gives each
contestant two steps, of which the second is timed (the first brings its own memory
back into place); the next round goes the other way round. The cost of leaving a trick
out is taken round by round, its median shown; so is what R-Drop, two passes of every
sentence that shall agree, adds.
"""

import argparse
import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.blocks import decoder_mask, padding_mask, shift_right
from clearhead.compare.race import Contestant, race
from clearhead.fast import FlatAdam, accelerate
from clearhead.fast.accelerate import ON_CPU
from clearhead.fast.memory import keep_freed_memory
from clearhead.models import Transformer, TransformerConfig
from clearhead.training.objective import consistent_loss, translation_loss
from clearhead.training.precision import choose_ground

LR, SMOOTHING, CLIP = 1e-4, 0.1, 1.0
Ids = np.ndarray[tuple[int, int], np.dtype[np.int64]]


@dataclass(frozen=True)
class Tricks:
    """What a contestant does; all of it is what `clearhead train` does on a CPU."""

    dtype: torch.dtype
    twins: frozenset[str] = ON_CPU
    fused_loss: bool = True
    flat_optimizer: bool = True
    kept_memory: bool = True
    consistency: float = 0.0  # R-Drop's weight; no trick, but the recipes offer it


class SeparateAdam:
    """What `FlatAdam` replaces: torch's fused AdamW over the list of parameters, with masters."""

    def __init__(self, model: nn.Module, dtype: torch.dtype) -> None:
        self.masters = [nn.Parameter(p.detach().clone()) for p in model.parameters()]
        model.to(dtype)
        self.parameters = list(model.parameters())
        self.adam = torch.optim.AdamW(
            self.masters, lr=LR, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0, fused=True
        )

    @torch.no_grad()
    def step(self, scale: float) -> None:
        for master, parameter in zip(self.masters, self.parameters, strict=True):
            assert parameter.grad is not None
            master.grad = parameter.grad.float() * scale
            parameter.grad = None
        nn.utils.clip_grad_norm_(self.masters, CLIP)
        self.adam.step()
        torch._foreach_copy_(self.parameters, self.masters)


class Step:
    """One update, with these tricks."""

    def __init__(self, config: TransformerConfig, tricks: Tricks, source: Ids, target: Ids) -> None:
        torch.manual_seed(1)
        self.tricks, self.source, self.target = tricks, source, target
        self.model = accelerate(Transformer.from_config(config), tricks.twins).train()
        kind = self._flat if tricks.flat_optimizer else self._separate
        self.update = kind()

    def __call__(self) -> float:
        """Returns how many target tokens it was."""
        keep_freed_memory(self.tricks.kept_memory)
        loss, tokens = self._fused() if self.tricks.fused_loss else self._readable()
        loss.backward()
        self.update(1 / tokens)
        return float(tokens)

    def _fused(self) -> tuple[Tensor, int]:
        sides, alpha = (self.source, self.target), self.tricks.consistency
        if alpha:
            losses = consistent_loss(self.model, *sides, SMOOTHING, alpha)
        else:
            losses = translation_loss(self.model, *sides, SMOOTHING)
        return losses.smoothed, losses.tokens

    def _readable(self) -> tuple[Tensor, int]:
        src, labels = torch.from_numpy(self.source), torch.from_numpy(self.target)
        pad = self.model.config.pad_id
        tgt = shift_right(labels, self.model.config.bos_id)
        out = self.model(src, tgt, padding_mask(src, pad), decoder_mask(tgt, pad))
        loss = F.cross_entropy(
            out.flatten(0, 1),
            labels.flatten(),
            ignore_index=pad,
            label_smoothing=SMOOTHING,
            reduction="sum",
        )
        return loss, labels.numel()

    def _flat(self) -> Callable[[float], object]:
        optimizer = FlatAdam(self.model, dtype=self.tricks.dtype)

        def update(scale: float) -> None:
            optimizer.accumulate()
            optimizer.step(LR, scale, CLIP)

        return update

    def _separate(self) -> Callable[[float], object]:
        return SeparateAdam(self.model, self.tricks.dtype).step


def variants(full: Tricks) -> dict[str, Tricks]:
    """The full set, and each trick alone taken away."""
    found = {"all tricks": full}
    for name in sorted(full.twins):
        found[f"without {name}"] = replace(full, twins=full.twins - {name})
    found["without fused loss"] = replace(full, fused_loss=False)
    found["without flat optimizer"] = replace(full, flat_optimizer=False)
    found["without kept memory"] = replace(full, kept_memory=False)
    if full.dtype != torch.float32:
        found["without bfloat16"] = replace(full, dtype=torch.float32)
    found["with R-Drop"] = replace(full, consistency=4.0)
    found["no trick, float32"] = Tricks(torch.float32, frozenset(), False, False, False)
    return found


def main() -> None:
    """Race and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--rows", type=int, default=128, help="sentences in the batch")
    parser.add_argument("--length", type=int, default=16, help="tokens a side")
    parser.add_argument("--vocabulary", type=int, default=8000)
    arguments = parser.parse_args()
    words = arguments.vocabulary
    config = TransformerConfig(
        words, words, d_model=256, encoder_layers=3, decoder_layers=3, h=4, d_ff=1024
    )
    shape = (2, arguments.rows, arguments.length)
    source, target = np.random.default_rng(1).integers(3, words, shape)
    ground = choose_ground("cpu", "auto")
    steps = [
        Contestant(name, Step(config, tricks, source, target))
        for name, tricks in variants(Tricks(ground.dtype)).items()
    ]
    laps = race(steps, arguments.rounds, run_up=1)
    times = {name: [1e3 * lap.seconds for lap in own] for name, own in laps.items()}
    print(f"{ground.why}, {torch.get_num_threads()} threads, torch {torch.__version__}")
    print(f"{'step':26} {'ms':>7} {'costs, ms':>10} {'x all tricks':>13}")
    full = times["all tricks"]
    for name, values in times.items():
        more = statistics.median(a - b for a, b in zip(values, full, strict=True))
        times_as_long = statistics.median(a / b for a, b in zip(values, full, strict=True))
        print(f"{name:26} {statistics.median(values):7.1f} {more:+10.1f} {times_as_long:13.3f}")


if __name__ == "__main__":
    main()
