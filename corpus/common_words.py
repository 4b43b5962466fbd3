"""Print the list of common English words with which translations are checked.

    python corpus/common_words.py corpus/en_fr/*.tsv > common_words.tsv

The list is `common_words.tsv` of `clearhead.translation.doubt`. A word is common if it occurs
often in small letters; words that are usually names (`hood`) are left out, like the names of the
grammar's lexicon. Those that the French sides contain, too (`table`), are in a line of their own.
"""

import re
import sys
from collections import Counter
from pathlib import Path

OCCURRENCES = 3
SMALL, CAPITAL = re.compile(r"\b[a-z]{3,}\b"), re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b")
NAMES = Path("src/clearhead/data/grammar/lexicon/names").glob("*.tsv")
FRENCH = re.compile(r"[^\W\d_]+")


def main() -> None:
    """Read the files named on the command line."""
    small, capital, french = Counter[str](), Counter[str](), set[str]()
    for path in map(Path, sys.argv[1:]):
        for line in path.read_text(encoding="utf-8").splitlines():
            english, _, translation = line.partition("\t")
            small.update(SMALL.findall(english))
            capital.update(map(str.lower, CAPITAL.findall(english)))
            french.update(FRENCH.findall(translation))
    names = {word.lower() for path in NAMES for word in FRENCH.findall(path.read_text("utf-8"))}
    common = [w for w, n in small.items() if n >= max(OCCURRENCES, 2 * capital[w])]
    common = sorted(set(common) - names)
    print("# language\twords; written by corpus/common_words.py")
    print("en", " ".join(word for word in common if word not in french), sep="\t")
    print("both", " ".join(word for word in common if word in french), sep="\t")


if __name__ == "__main__":
    main()
