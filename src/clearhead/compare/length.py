"""What a token costs the longer the translation gets.

With a cache, position t costs one pass through the layers and a look back at t keys: a
constant and a small slope. Without one, every token would pay for all before it again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np
import torch

from clearhead.compare.race import Contestant, Laps, race
from clearhead.compare.results import Heat
from clearhead.decoding import DecodingOptions, decode
from clearhead.errors import UserError
from clearhead.fast import accelerate
from clearhead.files import atomic_save
from clearhead.models import Transformer, TransformerConfig

SOURCE_TOKENS = 16
KINDS = ("svg", "png", "pdf")


@dataclass(frozen=True)
class Cost:
    """Microseconds a token: measured at positions, and the straight line through them."""

    positions: list[float]
    microseconds: list[float]
    start: float
    slope: float  # a position

    def at(self, position: float) -> float:
        """On the line."""
        return self.start + self.slope * position


def length_heat(
    config: TransformerConfig,
    lengths: Sequence[int],
    rows: int,
    rounds: int,
    say: Callable[[str], None] = print,
) -> Heat:
    """Greedy translations of exactly so many tokens, `rows` side by side, weights at random."""
    longest = max(lengths)
    seq_len = max(config.src_seq_len, SOURCE_TOKENS)
    sizes = replace(config, src_seq_len=seq_len, tgt_seq_len=longest)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        model = accelerate(Transformer.from_config(sizes)).eval()
    first = max(config.pad_id, config.bos_id, config.eos_id) + 1
    source = [*[first] * (SOURCE_TOKENS - 1), config.eos_id]
    runners = [
        Contestant(name_of(length), _writing(model, [source] * rows, length)) for length in lengths
    ]
    laps = race(runners, rounds, 1, say=say)
    return Heat(f"Writing long, {rows} rows, greedy, float32", "tokens/s", laps)


def steps_to(longest: int) -> list[int]:
    """Eight lengths, evenly spaced."""
    return sorted({max(2, longest * part // 8) for part in range(1, 9)})


def name_of(length: int) -> str:
    """How the translations of this length are called."""
    return f"{length} tokens"


def _writing(model: Transformer, sources: list[list[int]], length: int) -> Callable[[], float]:
    options = DecodingOptions(
        beam_size=1,
        min_length=length - 1,  # no end sign before the last place
        max_length=length,
        batch_tokens=len(sources) * SOURCE_TOKENS,
        scores=False,
    )

    def run() -> float:
        decode(model, sources, options)
        return float(len(sources) * length)

    return run


def cost(laps: Laps, lengths: Sequence[int]) -> Cost:
    """From the difference of each length and the next: what the tokens between them cost."""
    seconds = [median(lap.seconds for lap in laps[name_of(length)]) for length in lengths]
    work = [laps[name_of(length)][0].work for length in lengths]
    microseconds = 1e6 * np.diff(seconds) / np.diff(work)
    positions = (np.array(lengths[1:]) + np.array(lengths[:-1])) / 2
    slope, start = np.polyfit(positions, microseconds, 1)
    return Cost(positions.tolist(), microseconds.tolist(), float(start), float(slope))


def remark(found: Cost, longest: int) -> str:
    """The line in words."""
    growth = 100 * (found.at(longest) / found.at(0) - 1)
    return (
        f"a token costs {found.at(0):,.0f} µs at the start and {found.at(longest):,.0f} µs at "
        f"position {longest}: {found.slope:+.3f} µs a position, {growth:+.0f} % in all"
    )


def plot(found: Cost, longest: int, path: Path) -> None:
    """A picture of it; the ending of the name says in which form.

    Raises:
        UserError: another ending than .svg, .png or .pdf.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    axes.plot([0, longest], [found.at(0), found.at(longest)], color="0.6", label="straight line")
    axes.plot(found.positions, found.microseconds, "o", label="measured")
    axes.set_xlabel("position in the translation")
    axes.set_ylabel("µs a token")
    axes.set_ylim(bottom=0)
    axes.legend()
    kind = picture_kind(path)
    atomic_save(path, lambda temporary: figure.savefig(temporary, format=kind))


def picture_kind(path: Path) -> str:
    """The form that a picture's name asks for, checked before an hour of measuring."""
    kind = path.suffix.removeprefix(".")
    if kind not in KINDS:
        raise UserError(f"{path}: expected a picture's name, ending in .{', .'.join(KINDS)}")
    return kind
