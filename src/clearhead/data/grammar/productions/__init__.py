"""Productions for what is written by rule or copied: numbers, dates, times, money, names, URLs.

Each production draws one value and writes it in English and in French with gold links. French
has U+202F (narrow no-break space) between groups of thousands and before ; ! ?, and U+00A0
(no-break space) before % : » and unit symbols, after «, and around the h of a time.
"""

# What a sentence with a production shows, besides the phenomena of the grammar.
PRODUCTIONS = (
    "name", "place_name", "date", "time", "number", "money", "percent", "measure", "ordinal",
    "copy", "noun_phrase",
)  # fmt: skip
