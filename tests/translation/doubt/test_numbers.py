import re
from random import Random

import pytest

from clearhead.translation.doubt.numbers import missing_numbers
from tests.corpora import corpus_pairs

SAME = [
    ("The train leaves at 3:30 pm.", "Le train part à 15 h 30."),
    ("The train leaves at 3:30 pm.", "Le train part à trois heures et demie."),
    ("It is 4:45.", "Il est cinq heures moins le quart."),
    ("We close at 6 p.m. today.", "Nous fermons à 18h aujourd'hui."),
    ("Between 4 and 5 pm.", "Entre 16 h et 17 h."),
    ("It starts at 12 pm.", "Ça commence à midi."),
    ("It costs $1,250.50.", "Cela coûte 1\u202f250,50 dollars."),
    ("It costs $18.50.", "Cela coûte 18 dollars 50."),
    ("I was born on March 14, 1987.", "Je suis né le 14 mars 1987."),
    ("It was the 14th of July.", "C'était le quatorze juillet."),
    ("on 03/14/1987", "le 14 mars 1987"),
    ("Call 020 7946 0000.", "Appelez le 020 7946 0000."),
    ("in the 12th century", "au XIIe siècle"),
    ("in the 12th century", "au douzième siècle"),
    ("the 21st century", "le XXIe siècle"),
    ("in the 1960s", "dans les années soixante"),
    (
        "My grandmother turned 90 on March 1.",
        "Ma grand-mère a eu quatre-vingt-dix ans le 1er mars.",
    ),
    ("Only 80 people came.", "Seules quatre-vingts personnes sont venues."),
    ("5.2% of them", "5,2 % d'entre eux"),
    ("$2.4 million", "2,4 millions de dollars"),
    ("1,000,000 people", "un million de personnes"),
    ("two hundred and fifty people", "250 personnes"),
    ("ten million people", "10 millions de personnes"),
    ("a hundred thousand people", "100\u202f000 personnes"),
    ("twenty-one million people", "21 millions de personnes"),
    ("a billion tonnes", "un milliard de tonnes"),
    ("two billion years", "deux milliards d'années"),
    ("twenty-one women", "vingt et une femmes"),
    ("In 1957", "En dix-neuf-cent-cinquante-sept"),
    ("1/2 cup", "une demi-tasse"),
    ("We won 3-1.", "Nous avons gagné 3 à 1."),
    ("It closes at 7 pm.", "Ça ferme à 7 h du soir."),
    ("It closes at 4:30 pm.", "Ça ferme à quatre heures et demie de l'après-midi."),
    ("It starts at 12:15 am.", "Ça commence à 0 h 15."),
    ("Come at 12 pm or at 12 am.", "Venez à midi ou à minuit."),
    ("Version 3.11.4 is out.", "La version 3.11.4 est sortie."),
    ("Call 555-0142.", "Appelez le 555-0142."),
    ("on the fourth floor", "au quatrième étage"),
    ("one of us, for a second, at first", "l'un de nous, un instant, d'abord"),
]
DIFFERENT = [
    ("Room 408 is here.", "La chambre est ici.", "408"),
    ("The bridge is 1,340 meters long.", "Le pont a 134 mètres de long.", "1,340"),
    ("It grew by 3.7%.", "Cela a grandi de 37 %.", "3.7"),
    ("There are 5 of the 48.", "Il y en a 58 sur 48.", "5"),
    ("It opens at 9:45 am.", "Ça ouvre à 9 h 54.", "9:45 am"),
    ("It closes at 7 pm.", "Ça ferme à 18 h.", "7 pm"),
    ("It closes at 7 pm.", "Ça ferme à 7 h.", "7 pm"),
    ("It closes at 7 pm.", "Ça ferme à 7 h du matin.", "7 pm"),
    ("It opens at 9:45 am.", "Ça ouvre à 21 h 45.", "9:45 am"),
    ("It starts at 12:15 am.", "Ça commence à 12 h 15.", "12:15 am"),
    ("We won 3-1.", "Nous avons gagné 31.", "3-1"),
    ("Call 555-0142.", "Appelez le 55024.", "555-0142"),
    ("Call 020 7946 0000.", "Appelle le 020 7946 000.", "0000"),
    ("in the 12th century", "au XVe siècle", "12"),
    ("It is five minutes away.", "C'est tout près.", "five"),
    ("two hundred people", "deux personnes", "two hundred"),
    ("At 8 or 9 degrees.", "À 8 degrés.", "9"),
]


@pytest.mark.parametrize(("source", "translation"), SAME)
def test_a_number_in_another_form_is_not_missing(source: str, translation: str) -> None:
    assert missing_numbers(source, translation) == []


@pytest.mark.parametrize(("source", "translation", "number"), DIFFERENT)
def test_a_missing_or_different_number_is_named(source: str, translation: str, number: str) -> None:
    assert missing_numbers(source, translation) == [number]


def test_human_translations_raise_few_alarms() -> None:
    pairs = corpus_pairs()[::4]
    alarms = [pair for pair in pairs if missing_numbers(*pair)]
    assert len(alarms) <= len(pairs) / 200


def test_a_changed_digit_is_found() -> None:
    """Of translations with one digit changed, where the number stands in digits on both sides."""
    random, found, total = Random(5), 0, 0
    for source, target in corpus_pairs():
        shared = set(re.findall(r"\b\d{2,}\b", source)) & set(re.findall(r"\b\d{2,}\b", target))
        if not shared or missing_numbers(source, target):
            continue
        number = random.choice(sorted(shared))
        wrong = number[:-1] + str((int(number[-1]) + random.randint(1, 9)) % 10)
        total += 1
        found += bool(missing_numbers(source, re.sub(rf"\b{number}\b", wrong, target)))
    assert total > 300
    assert found / total > 0.97
