"""Training throughput against the didactic baseline, paired and alternating.

    python benchmarks/training_speed.py

Same sizes (d_model 256, h 4, d_ff 1024, 3 + 3 layers, vocabulary 8,000), same
full batch of 128 x 16 source and target tokens, dropout 0.1, label smoothing
0.1. Every round runs each contestant once; the ratio is taken round by round.
"""

import statistics
import time
from collections.abc import Callable

import didactic
import hardware
import numpy as np
import torch
from torch import nn

from clearhead.blocks import decoder_mask, padding_mask, shift_right
from clearhead.fast import FlatAdam, accelerate
from clearhead.models import Transformer, TransformerConfig
from clearhead.training.objective import translation_loss
from clearhead.training.precision import choose_ground

VOCAB, BATCH, LENGTH, ROUNDS = 8000, 128, 16, 9
Step = Callable[[], None]


def baseline(source: torch.Tensor, target: torch.Tensor) -> Step:
    """The teaching sources' step, float32."""
    model = didactic.Didactic(VOCAB, 256, 3, 4, 1024, 0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, eps=1e-9)
    criterion = nn.CrossEntropyLoss(ignore_index=0, label_smoothing=0.1)
    src_mask = padding_mask(source, 0)

    def step() -> None:
        tgt = shift_right(target, 1)
        output = model(source, tgt, src_mask, decoder_mask(tgt, 0))
        criterion(output.view(-1, VOCAB), target.view(-1)).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def clearhead_step(source: torch.Tensor, target: torch.Tensor, dtype: torch.dtype) -> Step:
    """What `clearhead train` does for one batch."""
    config = TransformerConfig(
        VOCAB, VOCAB, d_model=256, encoder_layers=3, decoder_layers=3, h=4, d_ff=1024
    )
    model = accelerate(Transformer.from_config(config)).train()
    optimizer = FlatAdam(model, dtype=dtype)
    src, tgt = source.numpy(), target.numpy()

    def step() -> None:
        losses = translation_loss(model, src, tgt, 0.1)
        losses.smoothed.backward()
        optimizer.accumulate()
        optimizer.step(1e-4, 1 / losses.tokens, 1.0)

    return step


def main() -> None:
    """Race and print a table."""
    torch.manual_seed(1)
    numbers = np.random.default_rng(1).integers(3, VOCAB, (2, BATCH, LENGTH))
    source, target = torch.from_numpy(numbers)
    ground = choose_ground("cpu", "auto")
    contestants = {
        "didactic baseline, float32": baseline(source, target),
        "clearhead, float32": clearhead_step(source, target, torch.float32),
    }
    if ground.dtype == torch.bfloat16:
        contestants["clearhead, bfloat16"] = clearhead_step(source, target, torch.bfloat16)
    times = race(contestants)
    print(hardware.describe())
    print(f"{'step of':28} {'ms':>7} {'target tok/s':>13} {'x baseline':>11}")
    first = next(iter(times))
    for name, seconds in times.items():
        ratio = statistics.median(a / b for a, b in zip(times[first], seconds, strict=True))
        median = statistics.median(seconds)
        print(f"{name:28} {median * 1e3:7.0f} {BATCH * LENGTH / median:13,.0f} {ratio:11.2f}")


def race(contestants: dict[str, Step]) -> dict[str, list[float]]:
    """Seconds of each contestant, round by round; two rounds of warm-up are dropped."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(ROUNDS + 2):
        for name, step in contestants.items():
            began = time.perf_counter()
            step()
            if number >= 2:
                times[name].append(time.perf_counter() - began)
    return times


if __name__ == "__main__":
    main()
