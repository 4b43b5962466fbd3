"""`clearhead bench length`: the cost of a token as translations get longer.

With a key-value cache, position t costs one pass through the layers plus attention to t keys: a
constant and a small slope. Without a cache, every position would recompute all earlier ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
import torch

from clearhead.compare.results import Benchmark
from clearhead.compare.timing import Candidate, Measurements, Progress, measure
from clearhead.compare.workloads import first_token
from clearhead.decoding import DecodingOptions, decode
from clearhead.errors import UserError
from clearhead.fast import accelerate
from clearhead.files import atomic_save
from clearhead.models import Transformer, TransformerConfig

SOURCE_TOKENS = 16
FORMATS = ("svg", "png", "pdf")


@dataclass(frozen=True)
class Cost:
    """Microseconds per token by length of the translation, and a straight line fitted to them.

    If position t costs a + b t, the mean over n tokens is a + b n / 2: again a line, and much
    steadier than differences between lengths.
    """

    lengths: list[int]
    microseconds: list[float]
    intercept: float
    slope: float  # per token of length

    def at(self, length: float) -> float:
        """The fitted cost of a token in a translation of this length."""
        return self.intercept + self.slope * length


def length_benchmark(
    config: TransformerConfig,
    lengths: Sequence[int],
    rows: int,
    rounds: int,
    progress: Progress = print,
) -> Benchmark:
    """Greedy translations of exactly these lengths, `rows` in parallel, random weights."""
    seq_len = max(config.src_seq_len, SOURCE_TOKENS)
    config = replace(config, src_seq_len=seq_len, tgt_seq_len=max(lengths))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        model = accelerate(Transformer.from_config(config)).eval()
    source = [*[first_token(config)] * (SOURCE_TOKENS - 1), config.eos_id]
    candidates = [
        Candidate(label(length), partial(_translate, model, [source] * rows, length))
        for length in lengths
    ]
    found = measure(candidates, rounds, 1, progress=progress)
    return Benchmark(f"Long translations, {rows} rows, greedy, float32", "tokens/s", found)


def lengths_to(longest: int) -> list[int]:
    """Eight evenly spaced lengths."""
    return sorted({max(2, longest * part // 8) for part in range(1, 9)})


def label(length: int) -> str:
    """The name of the candidate of this length."""
    return f"{length} tokens"


def _translate(model: Transformer, sources: list[list[int]], length: int) -> float:
    options = DecodingOptions(
        beam_size=1,
        min_length=length - 1,  # no EOS before the last position
        max_length=length,
        batch_tokens=len(sources) * SOURCE_TOKENS,
        scores=False,
    )
    decode(model, sources, options)
    return float(len(sources) * length)


def fit_cost(found: Measurements, lengths: Sequence[int]) -> Cost:
    """The median round of each length, and the line through them."""
    microseconds = [1e6 * median(1 / one.rate for one in found[label(n)]) for n in lengths]
    slope, intercept = np.polyfit(lengths, microseconds, 1)
    return Cost(list(lengths), microseconds, float(intercept), float(slope))


def remark(cost: Cost) -> str:
    """The fitted line in words."""
    shortest, longest = cost.lengths[0], cost.lengths[-1]
    growth = 100 * (cost.at(longest) / cost.at(shortest) - 1)
    return (
        f"a token of a translation of {shortest} costs {cost.at(shortest):,.0f} µs, of {longest} "
        f"{cost.at(longest):,.0f} µs ({growth:+.0f} %): {cost.slope:+.3f} µs for each token more"
    )


def plot(cost: Cost, path: Path) -> None:
    """Save a plot; the extension of the file gives its format.

    Raises:
        UserError: the extension is not .svg, .png or .pdf.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    ends = (0, cost.lengths[-1])
    axes.plot(ends, [cost.at(length) for length in ends], color="0.6", label="linear fit")
    axes.plot(cost.lengths, cost.microseconds, "o", label="measured")
    axes.set_xlabel("length of the translation (tokens)")
    axes.set_ylabel("time per token (µs)")
    axes.set_ylim(bottom=0)
    axes.legend()
    kind = plot_format(path)
    atomic_save(path, lambda temporary: figure.savefig(temporary, format=kind))


def plot_format(path: Path) -> str:
    """The format given by a file's extension; checked before a long measurement."""
    kind = path.suffix.removeprefix(".")
    if kind not in FORMATS:
        raise UserError(f"{path}: expected a picture's name, ending in .{', .'.join(FORMATS)}")
    return kind
