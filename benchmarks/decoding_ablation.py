"""What each trick of the search is worth: the full set, and the full set without it.

    python benchmarks/decoding_ablation.py [--data test.tsv] [--beam-size 4]

The shipped model translates the same sentences once a round in every way; the next
round goes the other way round. Ratios are taken round by round, their median shown,
and with them how many translations are those of the readable engine, token for token.
"""

import argparse
import statistics
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import cast
from unittest.mock import patch

import hardware
from torch import nn

from clearhead import Translator
from clearhead.compare.race import Contestant, race
from clearhead.compare.setting import named
from clearhead.data.corpus import open_pairs
from clearhead.decoding import DecodingOptions, Engine, decode, search
from clearhead.fast.fused_decoder import FusedDecoder
from clearhead.fast.fused_encoder import FusedEncoder
from clearhead.fast.incremental import IncrementalDecoder
from clearhead.fast.packed_linear import PlainLinear, side_by_side
from clearhead.models import Transformer

Way = tuple[str, Engine, DecodingOptions, bool]  # the last: whether searches run side by side


def ways(model: Transformer, options: DecodingOptions) -> Iterator[Way]:
    """All tricks; each alone taken away; none; and all of them in fewer bits."""
    full = Engine.of(model)
    yield "readable blocks with a cache", Engine.readable(model), options, False
    yield "all tricks", full, options, True
    yield "without side by side", full, options, False
    yield "without refilling", full, replace(options, refill=False), True
    yield "without blocked weights", _plain(model, full), options, True
    yield "without fused encoder", replace(full, encode=model.encode), options, True
    yield "without fused decoder", replace(full, decoder=IncrementalDecoder(model)), options, True
    for precision in ("bfloat16", "int8"):
        yield f"all tricks, {precision}", Engine.of(model, precision), options, True


def _plain(model: Transformer, full: Engine) -> Engine:
    proj = cast(nn.Linear, model.projection_layer.proj)
    return replace(
        full,
        encode=FusedEncoder(model, PlainLinear),
        decoder=FusedDecoder(model, PlainLinear),
        logits=side_by_side(PlainLinear, proj),
    )


class Run:
    """One way of translating all sentences; remembers what it said."""

    def __init__(self, way: Way, sources: list[list[int]]) -> None:
        self.name, self.engine, self.options, self.together = way
        self.sources = sources
        self.found: list[list[int]] = []

    def __call__(self) -> float:
        """Returns how many sentences were translated."""
        with patch.object(search, "searches_at_once", self._count()):
            hypotheses = decode(self.engine, self.sources, self.options)
        self.found = [best[0].ids for best in hypotheses]
        return len(self.found)

    def _count(self) -> Callable[[Engine, int, int], int]:
        return search.searches_at_once if self.together else lambda *_: 1


def main() -> None:
    """Race and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", default="grammar:test:400", help="a corpus; English is read")
    parser.add_argument("--lines", type=int, default=400)
    parser.add_argument("--beam-size", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    translator = Translator.from_pretrained(device="cpu")
    texts = [pair.source for pair in islice(open_pairs(arguments.data), arguments.lines)]
    sources = [source.ids for source in translator.reader.read(texts)]
    options = DecodingOptions(
        beam_size=arguments.beam_size, batch_sentences=64, batch_tokens=10**6, scores=False
    )
    runs = [Run(way, sources) for way in ways(translator.model, options)]
    laps = race([Contestant(run.name, run) for run in runs], arguments.rounds)
    print(hardware.describe())
    print(
        f"{len(sources)} sentences of {named(arguments.data)}, beam {arguments.beam_size}, "
        "64 sentences at a time"
    )
    print(f"{'way':30} {'lines/s':>8} {'x all tricks':>13} {'the same':>10}")
    full, reference = laps["all tricks"], runs[0].found
    for run in runs:
        rate = statistics.median(lap.rate for lap in laps[run.name])
        pairs = zip(laps[run.name], full, strict=True)
        longer = statistics.median(lap.seconds / other.seconds for lap, other in pairs)
        same = sum(a == b for a, b in zip(run.found, reference, strict=True))
        print(f"{run.name:30} {rate:8.0f} {longer:13.3f} {100 * same / len(reference):9.1f}%")


if __name__ == "__main__":
    main()
