"""How many names and numbers that nobody has seen arrive in the translation, letter by letter.

    python benchmarks/copying.py test.tsv [--model DIRECTORY ...] [--beam-size 4]

Of a corpus, the pairs with a name or a number that stands on both sides; each is replaced by a
made-up one, or the names by people's, of whom Tatoeba knows none. Counted is what stands in the
translation as it stood in the source.
"""

import argparse
from random import Random

from clearhead import Translator
from clearhead.data import Pair, open_pairs
from clearhead.data.made_up import ELIDING, MadeUp, copied, made_up_name

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
    parser.add_argument("--model", action="append", help="a directory; the shipped one without")
    parser.add_argument("--beam-size", type=int, default=4)
    arguments = parser.parse_args()
    known = [pair for pair in open_pairs(arguments.data) if copied(pair)]
    made_up, people = (
        [MadeUp(1.0, seed, name)(pair) for seed, pair in enumerate(known)]
        for name in (made_up_name, somebody)
    )
    print(f"{len(known)} pairs of {arguments.data}, beam size {arguments.beam_size}")
    print(f"{'model':30} {'as written':>12} {'made up':>12} {'people':>12}")
    for model in arguments.model or [None]:
        translator = Translator.from_pretrained(model)
        shares = [
            arrived(translator, pairs, arguments.beam_size) for pairs in (known, made_up, people)
        ]
        print(f"{model or 'shipped':30} " + " ".join(f"{share:12.1%}" for share in shares))


def somebody(random: Random, vowel: bool) -> str:
    """The name of one of the people that begins with a vowel, or of one that does not."""
    return random.choice([name for name in PEOPLE.split() if (name[0] in ELIDING) == vowel])


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
