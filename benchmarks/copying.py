"""The share of unseen names and numbers that a model copies exactly into its translations.

    python benchmarks/copying.py test.tsv [--model DIRECTORY ...] [--beam-size 4]

It uses the pairs of a corpus with a name or a number on both sides. Each is scored as written, with
synthetic names and numbers in their place, and with names of people that do not occur in Tatoeba.
"""

import argparse
from random import Random

from clearhead import Translator
from clearhead.data import Pair, open_pairs
from clearhead.data.synthetic_names import ELIDING, SyntheticNames, copied, synthetic_name

PEOPLE = """
    Agnieszka Aishwarya Akinyi Anouk Asbjorn Bengtsson Bjarne Castellanos Chukwuma Delacroix
    Dimitrios Efrosini Ekaterina Enrique Eszter Ezgi Fatoumata Grzegorz Gwendolyn Ibrahim Illich
    Ingrid Itzel Josephus Katarzyna Khadija Kowalczyk Lakshmi Lindqvist Ljubomir Mwangi Nakamura
    Ngozi Nguyen Novak Oksana Olumide Orhan Osterberg Oyelaran Pavlovich Petrosyan Priyanka Quispe
    Rasmussen Schwarzenbach Siddharth Siemens Svetlana Takeshi Tariq Thembeka Torvald Ulrike
    Umberto Uxue Vigdis Wojtek Xiomara Yevgeny Ylva Zbigniew Zeynep Zhang
"""


def main() -> None:
    """Print a row for each model."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data")
    parser.add_argument(
        "--model", action="append", help="a model directory (default: the shipped model)"
    )
    parser.add_argument("--beam-size", type=int, default=4)
    arguments = parser.parse_args()
    known = [pair for pair in open_pairs(arguments.data) if copied(pair)]
    if not known:
        parser.error(f"{arguments.data} has no pair with a name or number on both sides")
    synthetic, people = (
        [SyntheticNames(1.0, seed, name)(pair) for seed, pair in enumerate(known)]
        for name in (synthetic_name, person)
    )
    print(f"{len(known)} pairs of {arguments.data}, beam size {arguments.beam_size}")
    print(f"{'model':30} {'as written':>12} {'synthetic':>12} {'people':>12}")
    for model in arguments.model or [None]:
        translator = Translator.from_pretrained(model)
        shares = [
            copy_rate(translator, pairs, arguments.beam_size)
            for pairs in (known, synthetic, people)
        ]
        print(f"{model or 'shipped':30} " + " ".join(f"{share:12.1%}" for share in shares))


def person(random: Random, vowel: bool) -> str:
    """The name of a person that begins with a vowel, or of one that does not."""
    return random.choice([name for name in PEOPLE.split() if (name[0] in ELIDING) == vowel])


def copy_rate(translator: Translator, pairs: list[Pair], beam_size: int) -> float:
    """The share of the names and numbers on both sides that the translation contains."""
    translations = translator.translate([pair.source for pair in pairs], beam_size=beam_size)
    found = total = 0
    for pair, translation in zip(pairs, translations, strict=True):
        expected = copied(pair)
        found += len(expected & copied(Pair(pair.source, translation)))
        total += len(expected)
    return found / total


if __name__ == "__main__":
    main()
