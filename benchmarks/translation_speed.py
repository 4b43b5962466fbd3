"""Lines a second of the shipped translator (or another) on a file of English lines.

    python benchmarks/translation_speed.py test.tsv [--model DIR] [--beam-size N]

The first column of a TSV is read; loading the model is not counted; the median
of three passes is printed.
"""

import argparse
import statistics
import time
from pathlib import Path

from clearhead import Translator
from clearhead.compare.timing import describe_machine
from clearhead.data.corpus import open_pairs


def main() -> None:
    """Translate the file three times and print the rate."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--beam-size", type=int, default=1)
    parser.add_argument("--batch-tokens", type=int, default=8192)
    arguments = parser.parse_args()
    lines = [pair.source for pair in open_pairs(arguments.file)]
    translator = Translator.from_pretrained(arguments.model)
    rates = []
    for _ in range(3):
        began = time.perf_counter()
        translator.translate(
            lines, beam_size=arguments.beam_size, batch_tokens=arguments.batch_tokens
        )
        rates.append(len(lines) / (time.perf_counter() - began))
    print(describe_machine())
    print(
        f"{len(lines)} lines, beam {arguments.beam_size}: {statistics.median(rates):.0f} lines/s "
        f"({min(rates):.0f} to {max(rates):.0f})"
    )


if __name__ == "__main__":
    main()
