"""How many names and numbers that nobody has seen arrive in the translation, letter by letter.

    python benchmarks/copying.py test.tsv [--model DIRECTORY ...] [--beam-size 4]

Of a corpus, the pairs with a name or a number that stands on both sides; each is replaced by a
made-up one. Counted is what stands in the translation as it stood in the source.
"""

import argparse

from clearhead import Translator
from clearhead.data import Pair, open_pairs
from clearhead.data.made_up import MadeUp, copied


def main() -> None:
    """Print a row for each model."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data")
    parser.add_argument("--model", action="append", help="a directory; the shipped one without")
    parser.add_argument("--beam-size", type=int, default=4)
    arguments = parser.parse_args()
    known = [pair for pair in open_pairs(arguments.data) if copied(pair)]
    unknown = [MadeUp(1.0, seed)(pair) for seed, pair in enumerate(known)]
    print(f"{len(known)} pairs of {arguments.data}, beam size {arguments.beam_size}")
    print(f"{'model':30} {'as written':>12} {'made up':>12}")
    for model in arguments.model or [None]:
        translator = Translator.from_pretrained(model)
        shares = [arrived(translator, pairs, arguments.beam_size) for pairs in (known, unknown)]
        print(f"{model or 'shipped':30} {shares[0]:12.1%} {shares[1]:12.1%}")


def arrived(translator: Translator, pairs: list[Pair], beam_size: int) -> float:
    """The share of names and numbers that both sides hold which the translation holds, too."""
    translations = translator.translate([pair.source for pair in pairs], beam_size=beam_size)
    found = total = 0
    for pair, translation in zip(pairs, translations, strict=True):
        wanted = copied(pair)
        found += len(wanted & copied(Pair(pair.source, translation)))
        total += len(wanted)
    return found / total


if __name__ == "__main__":
    main()
