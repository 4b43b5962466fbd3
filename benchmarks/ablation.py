"""What each fast operation of a training step is worth: all of them, and all but one.

    python benchmarks/ablation.py

One batch of 128 x 16 source and target tokens, d_model 256, h 4, d_ff 1024, 3 + 3
layers, vocabulary 8,000, dropout 0.1, label smoothing 0.1. In every round each candidate
makes two steps, of which only the second is timed (the first fills the caches with its data);
the next round runs in reverse order. The cost of leaving an operation out is computed round by
round, and its median is shown; so is the cost of R-Drop, which needs two passes per sentence.
"""

import argparse
import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import nn

from clearhead.compare.timing import Candidate, measure
from clearhead.fast import FlatAdam, accelerate
from clearhead.fast.accelerate import ON_CPU
from clearhead.models import Transformer, TransformerConfig
from clearhead.training.device_settings import choose_device_settings
from clearhead.training.objective import (
    TokenLoss,
    cross_entropy,
    fused_cross_entropy,
    r_drop_loss,
    translation_loss,
)

LR, SMOOTHING, CLIP = 1e-4, 0.1, 1.0
Ids = np.ndarray[tuple[int, int], np.dtype[np.int64]]


@dataclass(frozen=True)
class Settings:
    """What a candidate does; the defaults are those of `clearhead train` on a CPU."""

    dtype: torch.dtype
    operations: frozenset[str] = ON_CPU
    token_loss: TokenLoss = fused_cross_entropy
    flat_optimizer: bool = True
    r_drop: float = 0.0  # its weight, as in a recipe


class SeparateAdam:
    """torch's fused AdamW over the list of parameters, with float32 master weights of each."""

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
    """One update, with these settings."""

    def __init__(
        self, config: TransformerConfig, settings: Settings, source: Ids, target: Ids
    ) -> None:
        torch.manual_seed(1)
        self.settings, self.source, self.target = settings, source, target
        self.model = accelerate(Transformer.from_config(config), settings.operations).train()
        kind = self._flat if settings.flat_optimizer else self._separate
        self.update = kind()

    def __call__(self) -> float:
        """Returns how many target tokens it was."""
        sides, alpha = (self.source, self.target), self.settings.r_drop
        if alpha:
            losses = r_drop_loss(self.model, *sides, SMOOTHING, alpha)
        else:
            losses = translation_loss(self.model, *sides, SMOOTHING, self.settings.token_loss)
        losses.smoothed.backward()
        self.update(1 / losses.tokens)
        return float(losses.tokens)

    def _flat(self) -> Callable[[float], object]:
        optimizer = FlatAdam(self.model, dtype=self.settings.dtype)

        def update(scale: float) -> None:
            optimizer.accumulate()
            optimizer.step(LR, scale, CLIP)

        return update

    def _separate(self) -> Callable[[float], object]:
        return SeparateAdam(self.model, self.settings.dtype).step


def variants(full: Settings) -> dict[str, Settings]:
    """All of them, and each alone left out."""
    found = {"engine fast": full}
    for name in sorted(full.operations):
        found[f"without {name}"] = replace(full, operations=full.operations - {name})
    found["without fused loss"] = replace(full, token_loss=cross_entropy)
    found["without flat optimizer"] = replace(full, flat_optimizer=False)
    if full.dtype != torch.float32:
        found["without bfloat16"] = replace(full, dtype=torch.float32)
    found["with R-Drop"] = replace(full, r_drop=4.0)
    found["engine readable, float32"] = Settings(torch.float32, frozenset(), cross_entropy)
    return found


def main() -> None:
    """Measure and print a table."""
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
    chosen = choose_device_settings("cpu", "auto")
    steps = [
        Candidate(name, Step(config, settings, source, target))
        for name, settings in variants(Settings(chosen.dtype)).items()
    ]
    found = measure(steps, arguments.rounds, untimed_runs=1)
    times = {name: [1e3 * one.seconds for one in own] for name, own in found.items()}
    print(f"{chosen.reason}, {torch.get_num_threads()} threads, torch {torch.__version__}")
    print(f"{'step':26} {'ms':>7} {'costs, ms':>10} {'x engine fast':>13}")
    full = times["engine fast"]
    for name, values in times.items():
        more = statistics.median(a - b for a, b in zip(values, full, strict=True))
        times_as_long = statistics.median(a / b for a, b in zip(values, full, strict=True))
        print(f"{name:26} {statistics.median(values):7.1f} {more:+10.1f} {times_as_long:13.3f}")


if __name__ == "__main__":
    main()
