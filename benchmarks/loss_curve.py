"""The fast and the readable engine from one seed: do their loss curves agree?

    python benchmarks/loss_curve.py                    # 200 steps at full size, some minutes
    python benchmarks/loss_curve.py --steps 20

d_model 256, h 4, d_ff 1,024, 3 + 3 layers, vocabulary 8,000, batches of 128 x 16 tokens, in
float32, without dropout. The readable path is the plain blocks, `torch.nn.functional.cross_entropy`
and `torch.optim.AdamW`; the fast one is what `clearhead train` does with `run.engine: fast`, with
the paper's warm-up. Both see the same batches, whose targets are the reversed sources.

Training amplifies differences: two runs that differ in the last bit of one weight differ visibly
in the end. So a third run repeats the readable path with the last bits of one matrix changed: a
difference of that size is rounding, a larger one an error.
"""

import argparse
import copy

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.blocks import decoder_mask, padding_mask, shift_right
from clearhead.fast import FlatAdam, accelerate
from clearhead.models import Transformer, TransformerConfig
from clearhead.training.objective import translation_loss
from clearhead.training.recipe import make_schedule

BATCH, LENGTH, VOCABULARY, WARMUP, PEAK = 128, 16, 8_000, 4_000, 1e-3
BETAS, EPS, CLIP, SMOOTHING = (0.9, 0.98), 1e-9, 1.0, 0.1


def make_model() -> Transformer:
    torch.manual_seed(1)
    config = TransformerConfig(
        VOCABULARY,
        VOCABULARY,
        LENGTH,
        LENGTH,
        d_model=256,
        h=4,
        d_ff=1024,
        encoder_layers=3,
        decoder_layers=3,
        dropout=0.0,
    )
    return Transformer.from_config(config)


class Readable:
    """The formulas, and torch's optimizer."""

    def __init__(self, model: Transformer) -> None:
        self.model = model
        self.adam = torch.optim.AdamW(model.parameters(), 0.0, BETAS, EPS, weight_decay=0.0)

    def step(self, source: Tensor, labels: Tensor, lr: float) -> float:
        """One update; the loss before it, a token."""
        c = self.model.config
        target = shift_right(labels, c.bos_id)
        masks = padding_mask(source, c.pad_id), decoder_mask(target, c.pad_id)
        memory = self.model.encode(source, masks[0])
        output = self.model.project(self.model.decode(memory, masks[0], target, masks[1]))
        loss = F.cross_entropy(
            output.flatten(0, 1),
            labels.flatten(),
            ignore_index=c.pad_id,
            label_smoothing=SMOOTHING,
        )
        self.adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self.adam.param_groups[0]["lr"] = lr
        self.adam.step()
        return float(loss.detach())


class Fast:
    """What `clearhead train` does in float32."""

    def __init__(self, model: Transformer) -> None:
        self.model = accelerate(model).train()
        self.optimizer = FlatAdam(self.model, BETAS, EPS, 0.0, torch.float32)

    def step(self, source: Tensor, labels: Tensor, lr: float) -> float:
        """As `Readable.step`."""
        losses = translation_loss(self.model, source.numpy(), labels.numpy(), SMOOTHING)
        losses.smoothed.backward()
        self.optimizer.accumulate()
        self.optimizer.step(lr, 1 / losses.tokens, CLIP)
        return float(losses.smoothed.detach()) / losses.tokens


def nudged(model: Transformer) -> Transformer:
    """A copy; each number of one matrix is one or two units in the last place larger."""
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.get_parameter("encoder.layers.0.feed_forward_block.linear_1.weight").mul_(1 + 1e-7)
    return other


def batch(generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Source and its reverse, of 4 to 16 tokens, padded."""
    # Words near the front of the vocabulary come more often, as in a language.
    ranks = torch.rand(BATCH, LENGTH, generator=generator).pow(3) * (VOCABULARY - 4)
    source = ranks.long() + 4
    lengths = torch.randint(4, LENGTH + 1, (BATCH, 1), generator=generator)
    source = source.masked_fill(torch.arange(LENGTH) >= lengths, 0)
    return source, source.flip(1).gather(1, (torch.arange(LENGTH) - lengths) % LENGTH)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=200)
    steps = parser.parse_args().steps
    model = make_model().train()
    paths = Readable(model), Fast(copy.deepcopy(model)), Readable(nudged(model))
    schedule = make_schedule("inverse_sqrt", PEAK, WARMUP, steps, 256)
    generator, worst, rounding = torch.Generator().manual_seed(2), 0.0, 0.0
    print("| step | readable | fast | largest difference so far | that of a nudged run |")
    print("|---:|---:|---:|---:|---:|")
    for step in range(1, steps + 1):
        source, labels = batch(generator)
        slow, quick, other = [path.step(source, labels, schedule(step)) for path in paths]
        worst, rounding = max(worst, abs(slow - quick)), max(rounding, abs(slow - other))
        if step in (1, 10) or step % 20 == 0:
            row = f"| {step} | {slow:.5f} | {quick:.5f} | {worst:.1e} | {rounding:.1e} |"
            print(row, flush=True)


if __name__ == "__main__":
    main()
