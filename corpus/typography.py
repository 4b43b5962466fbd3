"""Set the no-break spaces of French typography in corpus files.

    python corpus/typography.py corpus/en_fr/*.tsv

Write the French side with ordinary spaces, then run this on the file. It sets U+202F before
; ! ? and between groups of three digits, U+00A0 inside « » and before : % and symbols of
units, in times ("15 h 30"), in "n° 5" and "§ 5"; it makes curly apostrophes straight and composes
accents (NFC). Inline code, URLs and e-mail addresses stay as they are.
"""

import re
import sys
import unicodedata
from pathlib import Path

WIDE, NARROW = "\u00a0", "\u202f"
COPIED = re.compile(r"(`[^`]*`|https?://[^\s,»]+|www\.[^\s,»]+|\S+@\S+)")
UNITS = (
    "€|\\$|£|¥|%|°C|°F|°|K|km/h|km|cm|mm|nm|m|ha|kg|mg|g|t|ml|cl|l|L|ko|Mo|Go|To|"
    "kHz|MHz|GHz|Hz|kWh|kW|MW|W|V|eV|ms|s|min|h|[cdk]?m[²³]|µl|µm|nM|µM|Å|m?mol/L|pb|kDa|"
    "h?Pa|mA|Ω|Mbit/s|N/m|mi/h|mph|tr/min|psi|lb|k?cal|ppm|UA|j/7|EUR|USD|GBP|CHF|CAD|JPY"
)
SPACE = "[ \u00a0\u202f]+"
RULES = [
    (rf"{SPACE}(?=[;!?]+(?!\w))", NARROW),
    (rf"{SPACE}(?=:(?:\s|$))", WIDE),
    (rf"«{SPACE}", "«" + WIDE),
    (rf"{SPACE}»", WIDE + "»"),
    (rf"(?<=\d){SPACE}(?=(?:{UNITS})(?![\w'’]))", WIDE),
    (rf"(?<=\d\u00a0h){SPACE}(?=\d)", WIDE),
    (rf"(?:(?<=n°)|(?<=§)){SPACE}(?=\d)", WIDE),
    ("’", "'"),
]
THOUSANDS = re.compile(r"(?<![\d,.])(?<!\d[ \u202f])\d{1,3}(?:[ \u202f]\d{3})+(?![ \u202f]?\d)")


def typography(french: str) -> str:
    """A French text with its no-break spaces; a text that has them all is not changed."""
    parts = COPIED.split(unicodedata.normalize("NFC", french))  # odd parts are copied
    parts[::2] = map(set_spaces, parts[::2])
    return "".join(parts)


def set_spaces(prose: str) -> str:
    """A text without code or addresses, with its no-break spaces."""
    for pattern, replacement in RULES:
        prose = re.sub(pattern, replacement, prose)
    return THOUSANDS.sub(lambda number: re.sub("[ \u202f]", NARROW, number[0]), prose)


def main() -> None:
    """Rewrite the French sides of the files named on the command line."""
    for path in map(Path, sys.argv[1:]):
        pairs = [line.split("\t", 1) for line in path.read_text(encoding="utf-8").splitlines()]
        lines = ["\t".join([*pair[:1], *map(typography, pair[1:])]) + "\n" for pair in pairs]
        path.write_text("".join(lines), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
