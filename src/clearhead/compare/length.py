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
    """Microseconds a token, by the length of the translation, and the straight line through them.

    The mean over a whole translation: where position t costs a + b t, n tokens cost
    a + b n / 2 each, a line again, and far steadier than the difference of two lengths.
    """

    lengths: list[int]
    microseconds: list[float]
    start: float
    slope: float  # a token more of length

    def at(self, length: float) -> float:
        """On the line."""
        return self.start + self.slope * length


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
    """Of each length the median round."""
    microseconds = [
        1e6 * median(lap.seconds / lap.work for lap in laps[name_of(length)]) for length in lengths
    ]
    slope, start = np.polyfit(lengths, microseconds, 1)
    return Cost(list(lengths), microseconds, float(start), float(slope))


def remark(found: Cost) -> str:
    """The line in words."""
    shortest, longest = found.lengths[0], found.lengths[-1]
    growth = 100 * (found.at(longest) / found.at(shortest) - 1)
    return (
        f"a token of a translation of {shortest} costs {found.at(shortest):,.0f} µs, of {longest} "
        f"{found.at(longest):,.0f} µs ({growth:+.0f} %): {found.slope:+.3f} µs for each token more"
    )


def plot(found: Cost, path: Path) -> None:
    """A picture of it; the ending of the name says in which form.

    Raises:
        UserError: another ending than .svg, .png or .pdf.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    ends = (0, found.lengths[-1])
    axes.plot(ends, [found.at(length) for length in ends], color="0.6", label="straight line")
    axes.plot(found.lengths, found.microseconds, "o", label="measured")
    axes.set_xlabel("tokens in the translation")
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
