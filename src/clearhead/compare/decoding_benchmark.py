"""`clearhead bench decoding` and `clearhead bench length`: translating, and what it costs.

`decoding` makes the same translations with the same weights in different engines; `length` finds
the cost of a token as translations get longer. With a key-value cache, position t costs one pass
through the layers plus attention to t keys: a constant and a small slope. Without a cache, every
position would recompute all earlier ones.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from statistics import median

import numpy as np
import torch
from matplotlib.figure import Figure

from clearhead import plot_style as style
from clearhead.compare import decoding_engines as peers
from clearhead.compare import timing
from clearhead.compare.results import Benchmark, Comparison, distinct
from clearhead.compare.workloads import BenchmarkModel, Ids, first_token
from clearhead.decoding import DecodingOptions, decode
from clearhead.errors import UserError, counted
from clearhead.explain.plots.plot import Plot
from clearhead.fast import accelerate
from clearhead.models import Transformer, TransformerConfig

# Engines that can be chosen with `--only`, by the package that they need.
PEERS: dict[str, Callable[[BenchmarkModel], Iterable[peers.Engine]]] = {
    "ctranslate2": peers.ctranslate2_engines,
    "transformers": peers.generate_engines,
}
# Target speed-ups over CTranslate2's fastest configuration of the same precision, by
# (rows, beam); and over transformers, by rows.
TARGETS = {
    "float32": {(64, 1): 1.4, (64, 4): 1.3, (1, 1): 3.0, (1, 4): 3.5},
    "int8": {(64, 1): 1.8, (64, 4): 1.5, (1, 1): 3.8, (1, 4): 4.0},
}
GENERATE_TARGETS = {64: 10.0, 1: 40.0}
SOURCE_TOKENS = 16  # of `length`


def collect_engines(
    model: BenchmarkModel, only: Sequence[str], kernels: str = ""
) -> tuple[list[peers.Engine], list[str]]:
    """All installed engines, ours first, and a remark for each one that is left out.

    `kernels` forces the instruction set of the native engine.

    Raises:
        UserError: a name in `only` or the instruction set is unknown.
    """
    engines: list[peers.Engine] = list(peers.own_engines(model, kernels))
    remarks = []
    for name in timing.select(only, PEERS):
        if not timing.is_installed(name):
            remarks.append(timing.skipped(name, name))
            continue
        try:
            engines.extend(PEERS[name](model))
        except UserError as error:  # the format cannot express this model
            remarks.append(f"{name} left out: {error}")
    return engines, remarks


def decoding_benchmarks(
    engines: Sequence[peers.Engine],
    model: BenchmarkModel,
    sources: Sequence[Ids],
    shapes: tuple[Sequence[int], Sequence[int]],
    rounds: int,
    progress: timing.Progress = print,
) -> list[Benchmark]:
    """A benchmark for each combination of rows and beam size in `shapes`.

    With one row only an eighth of the sentences is translated, because it is slow.
    """
    limit = min(2 * max(map(len, sources)) + 20, model.model.config.tgt_seq_len)
    benchmarks = []
    for rows, beam in product(*shapes):
        sample = sources if rows > 1 else sources[::8]
        progress(f"batch {rows}, beam {beam}")
        search = peers.Search(beam, rows, limit)
        benchmarks.append(decoding_benchmark(engines, sample, search, rounds, progress))
    return benchmarks


def decoding_benchmark(
    engines: Iterable[peers.Engine],
    sources: Sequence[Ids],
    search: peers.Search,
    rounds: int,
    progress: timing.Progress = print,
) -> Benchmark:
    """One batch size and beam size; notes give each engine's agreement with the first one."""
    translations: dict[str, list[Ids]] = {}  # of each engine's last run

    def run(engine: peers.Engine) -> float:
        translations[engine.name] = engine.translate(sources, search)
        return len(sources)

    candidates = [timing.Candidate(engine.name, partial(run, engine)) for engine in engines]
    found = timing.measure(candidates, rounds, 1, progress=progress)
    reference = translations[candidates[0].name]
    notes = {name: _agreement(own, reference) for name, own in translations.items()}
    method = "greedy" if search.beam == 1 else f"beam {search.beam}"
    title = f"Decoding, batch {search.rows}, {method}, {len(sources):,} sentences"
    return Benchmark(title, "sentences/s", found, distinct(_comparisons(found, search)), notes)


def _agreement(translations: list[Ids], reference: list[Ids]) -> str:
    same = sum(a == b for a, b in zip(translations, reference, strict=True))
    return f"{100 * same / len(reference):.1f} % the same"


def _comparisons(found: timing.Measurements, search: peers.Search) -> Iterator[Comparison]:
    """Each precision against CTranslate2 in the same one; our fastest against transformers."""
    for precision, targets in TARGETS.items():
        ours = f"{peers.CLEARHEAD}, {precision}"
        best = timing.fastest(found, f"{peers.CTRANSLATE2}, {precision}")
        if ours in found and best:
            yield Comparison(ours, best, targets.get((search.rows, search.beam)))
    champion = timing.fastest(found, peers.CLEARHEAD)
    assert champion is not None
    if best := timing.fastest(found, peers.GENERATE):
        yield Comparison(champion, best, GENERATE_TARGETS.get(search.rows))


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
    progress: timing.Progress = print,
) -> Benchmark:
    """Greedy translations of exactly these lengths, `rows` in parallel, random weights."""
    seq_len = max(config.src_seq_len, SOURCE_TOKENS)
    config = replace(config, src_seq_len=seq_len, tgt_seq_len=max(lengths))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        model = accelerate(Transformer.from_config(config)).eval()
    source = [*[first_token(config)] * (SOURCE_TOKENS - 1), config.eos_id]
    candidates = [
        timing.Candidate(label(length), partial(_translate, model, [source] * rows, length))
        for length in lengths
    ]
    found = timing.measure(candidates, rounds, 1, progress=progress)
    title = f"Long translations, {counted(rows, 'row')}, greedy, float32"
    return Benchmark(title, "tokens/s", found)


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


def fit_cost(found: timing.Measurements, lengths: Sequence[int]) -> Cost:
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


@style.in_style()
def plot_cost(cost: Cost) -> Plot:
    """The measured time per token by length, and the fitted line."""
    figure = Figure(figsize=(6, 3.5))
    axes = figure.subplots()
    ends = (0, cost.lengths[-1])
    axes.plot(ends, [cost.at(length) for length in ends], color=style.GREY, label="linear fit")
    axes.plot(cost.lengths, cost.microseconds, "o", color=style.BLUE, label="measured")
    axes.set_xlabel("length of the translation (tokens)")
    axes.set_ylabel("time per token (µs)")
    axes.set_ylim(bottom=0)
    axes.legend()
    return Plot(figure)
