"""Hypothesis-made texts through the translator: no crash, and as many lines out as in.

    python benchmarks/hypothesis_inputs.py --examples 10000 [--model DIR]

Any Unicode, lone surrogates, controls and all kinds of blanks included, and any
length. Every example is a list of lines that goes through the same `Writer` as
`clearhead translate`; the count of inputs is that of the lines.
"""

import argparse
import logging
import sys
import time
from pathlib import Path

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from clearhead.translation import DecodingOptions, Translator
from clearhead.translation.lines import Writer

CHARACTER = st.characters(codec=None, exclude_characters="\n")
PIECES = ["I", "the", "cat", "Mr.", "e.g.", "Yes.", "No?", "3.14", "…", "«", "»", "x"]
WORDS = st.lists(st.sampled_from(PIECES))
LINE = st.one_of(
    st.text(CHARACTER),
    st.text(st.sampled_from(" \t\r\v\f\x1c\x85\u00a0\u2028\u2029\u3000\ufeff")),
    WORDS.map(" ".join),
    # Longer than hypothesis makes them of itself, and longer than the model's positions.
    st.builds(
        lambda text, times: text * times, st.text(CHARACTER, max_size=9), st.integers(0, 400)
    ),
)

# Lines that are translated together: a step of the search costs the same for 2 and for 16.
FEWEST = 12
# A word, a text and a gap of a hundred thousand characters and more.
ENDLESS = ["æ" * 100_000, "Is it? Yes, it is. " * 6_000, " \u3000" * 50_000, ""]


def main() -> None:
    arguments = parse()
    logging.getLogger("clearhead").setLevel(logging.ERROR)
    translator = Translator.from_pretrained(arguments.model, arguments.device, arguments.threads)
    options = DecodingOptions(beam_size=arguments.beam_size, max_length=arguments.max_length)
    write = Writer(translator, options)
    pushed = longest = 0
    start = time.perf_counter()

    @settings(
        max_examples=-(-arguments.examples // FEWEST),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @example(ENDLESS)
    @given(st.lists(LINE, min_size=FEWEST, max_size=FEWEST + 4))
    def as_many_lines_out_as_in(lines: list[str]) -> None:
        nonlocal pushed, longest
        out = write(lines).decode("utf-8").split("\n")
        assert len(out) == len(lines) + 1
        for line, translation in zip(lines, out, strict=False):
            assert line.strip() or translation == ""
        longest = max(longest, *map(len, lines))
        if pushed // 1000 < (pushed + len(lines)) // 1000:
            print(f"{pushed} inputs, {time.perf_counter() - start:.0f} s", file=sys.stderr)
        pushed += len(lines)

    as_many_lines_out_as_in()
    seconds = time.perf_counter() - start
    if pushed < arguments.examples:
        sys.exit(f"hypothesis made {pushed} inputs only, {arguments.examples} were asked for")
    print(
        f"{pushed} inputs of up to {longest:,} characters, no crash, every line count kept "
        f"({seconds:.0f} s)"
    )


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=10_000, help="at least so many lines")
    parser.add_argument("--model", type=Path, help="a model directory; default: the shipped one")
    parser.add_argument("--beam-size", type=int, default=1)
    parser.add_argument("--max-length", type=int, default=16)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int)
    return parser.parse_args()


if __name__ == "__main__":
    main()
