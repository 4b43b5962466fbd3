"""What only English abbreviates has to arrive in a French form."""

import pytest

from clearhead.translation.doubt.dates import missing_abbreviations, written_out
from clearhead.translation.doubt.marker import missing_copies
from tests.corpora import corpus_pairs

ARRIVED = [
    ("She was born on 02/21/1941.", "Elle est née le 21/02/1941."),
    ("She was born on 2/21/1941.", "Elle est née le 21 février 1941."),
    ("She was born on 02/03/1941.", "Elle est née le 02/03/1941."),  # day or month: unknown
    ("It cost $96.2B.", "Cela a coûté 96,2 milliards de dollars."),
    ("It cost €3M.", "Cela a coûté trois millions d'euros."),
    ("I paid $5K.", "J'ai payé 5 000 dollars."),
    ("I paid CA$50.", "J'ai payé 50 dollars canadiens."),
    ("I paid US$50.", "J'ai payé 50 $ US."),
    ("It costs $1.2.3K.", "Cela coûte $1.2.3K."),  # no number
    ("Open 24/7, and 1/2 is a half.", "Ouvert 24 h/24, et 1/2 est un demi."),
]
MISSING = [
    ("She was born on 02/21/1941.", "Elle est née le 02/21/1941.", "02/21/1941"),
    ("The deadline is 12/25/2023.", "La date limite est 12/25/25/2023.", "12/25/2023"),
    ("It was on 3/14/2024.", "C'était le 3/3/14/2024.", "3/14/2024"),
    ("It cost $96.2B.", "Cela a coûté 96,2B.", "$96.2B"),
    ("It cost £1.5bn.", "Cela a coûté 1,5 million de livres.", "£1.5bn"),
    ("I paid $5K.", "J'ai payé 5 dollars.", "$5K"),
    ("I paid CA$50.", "J'ai payé 50 dollars.", "CA$50"),
]
LONGER = {
    "02/21/1941": "February 21, 1941",
    "$96.2B": "$96.2 billion",
    "€12 M": "€12 million",
    "$12.5K": "$12,500",
    "CA$8,113.25": "8,113.25 Canadian dollars",
    "AU$7": "7 Australian dollars",
    "21/02/1941": "",
    "$50": "",
    "$1.2.3K": "",
    "Tom": "",
}


@pytest.mark.parametrize(("source", "translation"), ARRIVED)
def test_a_french_form_is_not_missing(source: str, translation: str) -> None:
    assert missing_abbreviations(source, translation) == ([], source)


@pytest.mark.parametrize(("source", "translation", "text"), MISSING)
def test_the_english_form_is_missing_and_counts_once(
    source: str, translation: str, text: str
) -> None:
    found, rest = missing_abbreviations(source, translation)
    assert found == [text] and rest == source.replace(text, " " * len(text))
    assert [literal.text for literal in missing_copies(source, translation)] == [text]


@pytest.mark.parametrize(("text", "longer"), LONGER.items())
def test_the_longer_english_form(text: str, longer: str) -> None:
    assert written_out(text) == longer


def test_human_translations_raise_hardly_an_alarm() -> None:
    pairs = corpus_pairs()[::2]
    assert sum(bool(missing_abbreviations(*pair)[0]) for pair in pairs) <= len(pairs) / 2000
