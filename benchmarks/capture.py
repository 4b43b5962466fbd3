"""The cost of capturing activations: a forward pass with one captured layer, and without.

    python benchmarks/capture.py [--rounds 15]

The base size on its readable path, 8 sentences of 24 tokens, in pairs, rounds in alternating
order. Captured is the output of one encoder layer, or the weights of one cross-attention; the
notes show the largest difference of any output.
"""

import argparse
from collections.abc import Callable

import torch
from torch import Tensor

from clearhead.blocks import decoder_mask, padding_mask
from clearhead.compare.results import Benchmark, Comparison, Results, as_markdown
from clearhead.compare.timing import Candidate, measure, prepare_machine
from clearhead.explain.capture import capture
from clearhead.models import Transformer, TransformerConfig

PLAIN = "without capture"
CAPTURED = {
    "one layer's output": "encoder.layers.2",
    "one cross-attention's weights": "decoder.layers.2.cross_attention_block.weights",
}
PASSES = 3  # per measurement
TARGET = 0.91  # of the plain rate: at most a tenth more time


def inputs(config: TransformerConfig) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sources, targets and their masks."""
    src, tgt = torch.randint(3, config.src_vocab_size, (2, 8, 24))
    return src, tgt, padding_mask(src, config.pad_id), decoder_mask(tgt, config.pad_id)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    machine = prepare_machine(arguments.threads)
    torch.manual_seed(1)
    model = Transformer.from_config(TransformerConfig.preset("base", 8_000)).eval()
    given = inputs(model.config)
    found: dict[str, Tensor] = {}

    def runner(name: str, path: str | None) -> Callable[[], float]:
        @torch.inference_mode()
        def run() -> float:
            for _ in range(PASSES):
                if path is None:
                    found[name] = model(*given)
                else:
                    with capture(model, path) as seen:
                        found[name] = model(*given)
                    assert path in seen
            return PASSES

        return run

    paths: dict[str, str | None] = {PLAIN: None, **CAPTURED}
    candidates = [Candidate(name, runner(name, path)) for name, path in paths.items()]
    measurements = measure(candidates, arguments.rounds)
    notes = {
        name: f"max Δ {float((out - found[PLAIN]).abs().max()):g}" for name, out in found.items()
    }
    comparisons = [Comparison(name, PLAIN, TARGET) for name in CAPTURED]
    benchmark = Benchmark("Capturing one layer", "passes/s", measurements, comparisons, notes)
    setting = "the base size, 6 + 6 layers, readable path, 8 sentences of 24 tokens"
    print(as_markdown(Results("python benchmarks/capture.py", setting, machine, [benchmark])))


if __name__ == "__main__":
    main()
