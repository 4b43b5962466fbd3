"""Each production read back from its text: both sides say the same value."""

import re
from collections.abc import Callable
from random import Random

import pytest

from benchmarks.productions import KINDS
from clearhead.data.grammar.bitext import english_text, french_text, join_french, words
from clearhead.data.grammar.productions import amounts, calendar, clock, measures, verbatim
from clearhead.data.grammar.productions.carriers import carriers
from clearhead.data.grammar.productions.slots import SLOTS, fill
from clearhead.data.grammar.productions.values import (
    Filling,
    digits,
    english_ordinal,
    english_suffix,
    english_words,
    french_ordinal,
    french_suffix,
    french_words,
    roman,
)  # fmt: skip
from clearhead.data.grammar.vocabulary import Draw, wide

NARROW, NO_BREAK = "\u202f", "\u00a0"
MONTHS = {name: n for n, pair in enumerate(calendar.months(), start=1) for name in pair}


def sides(filling: Filling) -> tuple[str, str]:
    """As they are written after another word, so that no capital is added."""
    first, *rest = filling.english
    start = first._replace(text=first.text, space=" ")
    source = english_text([first._replace(text="x", space=None), start, *rest])
    word = filling.french[0]
    dot = word._replace(space=" ") if word.text == "." else word
    french = join_french([word._replace(text="x", space=None), dot, *filling.french[1:]])
    return source[2:], french_text(french)[2:]


def many(production: Callable[[Random], Filling], count: int = 400) -> list[tuple[str, str]]:
    rng = Random(3)
    return [sides(production(rng)) for _ in range(count)]


def test_digits_have_the_separators_of_each_language() -> None:
    found = digits("1250.50")
    assert "".join((w.space or "") + w.text for w in found[0]) == "1,250.50"
    assert "".join((w.space or "") + w.text for w in found[1]) == f"1{NARROW}250,50"
    found = digits("1234567")
    assert "".join((w.space or "") + w.text for w in found[1]) == f"1{NARROW}234{NARROW}567"


@pytest.mark.parametrize("slot", sorted(SLOTS))
def test_all_words_are_linked_and_are_those_of_the_text(slot: str) -> None:
    rng = Draw.of(wide(), 8)
    for _ in range(60):
        filling = fill(rng, slot)
        source = {label for word in filling.english for label in word.links}
        target = {label for word in filling.french for label in word.links}
        assert all(word.links & target for word in filling.english), filling
        assert all(word.links & source for word in filling.french), filling
        assert words(sides(filling)[0]) == [word.text for word in filling.english]


def number_in(text: str, point: str) -> float:
    found = re.search(r"\d[\d.,\u202f]*", text)
    assert found
    grouping = "," if point == "." else NARROW
    return float(found[0].replace(grouping, "").replace(point, "."))


@pytest.mark.parametrize(
    "production",
    [amounts.price, amounts.fortune, amounts.percent, amounts.count, amounts.decimal,
     SLOTS["millions"], SLOTS["billions"], amounts.negative, measures.fever, measures.height,
     lambda rng: measures.measure(rng, "distance"), lambda rng: measures.measure(rng, "memory")],
)  # fmt: skip
def test_both_sides_have_the_same_number(production: Callable[[Random], Filling]) -> None:
    for source, target in many(production):
        if re.search(r"\d", source):
            thousand = 1000 if re.search(r"\d[kK]$", source) else 1
            assert thousand * number_in(source, ".") == number_in(target, ","), (source, target)
        else:
            assert not re.search(r"\d", target), (source, target)


def test_a_price_keeps_its_currency_and_its_decimals() -> None:
    signs = {"$": "dollar", "€": "€", "£": "livre", "US$": "américain", "CA$": "canadien",
             "USD": "USD", "euros": "euros", "₹": "roupie", "¥": "yen"}  # fmt: skip
    for source, target in many(amounts.price, 2_000):
        for sign, name in signs.items():
            assert (sign in source) <= (name in target), (source, target)
        assert re.findall(r"[.,](\d\d)\b(?!\d)", source) == re.findall(r",(\d\d)\b", target)
        if "€" in target:
            assert target.endswith(f"{NO_BREAK}€")


def test_a_no_break_space_stands_before_percent_and_unit_symbols() -> None:
    for source, target in many(amounts.percent):
        assert target.endswith((f"{NO_BREAK}%", "pour cent")), target
        assert ("%" in source) == ("%" in target)
    for _, target in many(lambda rng: measures.measure(rng, "memory")):
        symbol = rf"[\d,{NARROW}]+{NO_BREAK}[GMTk]o"
        assert re.fullmatch(rf"{symbol}|[\d,]+ (?:giga|méga)octets", target), target
    for _, target in many(measures.temperature):
        words_ = r"moins [\w -]+ degrés"
        scale = rf"{NO_BREAK}°[CF]| degrés(?: Celsius| Fahrenheit)?"
        assert re.fullmatch(rf"-?\d+(?:{scale})|{words_}", target), target


def minutes_of(source: str) -> int:
    if source in ("noon", "midnight"):
        return 720 if source == "noon" else 0
    found = re.fullmatch(r"(\d+)(?:[:.](\d\d))? ?(am|pm|AM|PM|a\.m\.|p\.m\.)?", source)
    assert found, source
    hour, minute, mark = int(found[1]), int(found[2] or 0), (found[3] or "").lower()
    if mark:
        hour = hour % 12 + 12 * mark.startswith("p")
    return 60 * hour + minute


def test_times_have_24_hours_in_french_and_say_the_same_minute() -> None:
    spoken = 0
    for source, target in many(clock.time, 1_000):
        if target in ("midi", "minuit"):
            assert minutes_of(source) == (720 if target == "midi" else 0)
        elif "heure" in target:
            spoken += 1
            assert (" to " in f" {source}") == ("moins" in target), (source, target)
            assert ("half" in source) == target.endswith("et demie")
            assert ("morning" in source) == target.endswith("du matin")
        else:
            found = re.fullmatch(rf"(\d+){NO_BREAK}h(?:{NO_BREAK}(\d\d))?", target)
            assert found, target
            assert 60 * int(found[1]) + int(found[2] or 0) == minutes_of(source), (source, target)
    assert spoken > 50


def test_both_ends_of_a_span_say_the_same_hour() -> None:
    for source, target in many(clock.time_span):
        found = re.fullmatch(
            r"(?:from|between) (\d+)(?: (am|pm))? (?:to|and) (\d+) (am|pm)", source
        )
        assert found, source
        first = minutes_of(f"{found[1]} {found[2] or found[4]}")
        hours = [first // 60, minutes_of(f"{found[3]} {found[4]}") // 60]
        assert hours == [int(hour) for hour in re.findall(rf"(\d+){NO_BREAK}h", target)], source


def date_in(text: str) -> tuple[int, int, str]:
    slashed = re.fullmatch(r"(\d+)/(\d+)/(\d{4})", text)
    if slashed:  # days up to 12 are never written so: the larger number is the day
        small, large = sorted((int(slashed[1]), int(slashed[2])))
        return small, large, slashed[3]
    starts = {name[:3] if name[0].isupper() else name: n for name, n in MONTHS.items()}
    month = next(n for start, n in starts.items() if re.search(rf"\b{start}", text))
    year = re.findall(r"\b\d{4}\b", text)
    day = re.search(r"\b(\d{1,2})(?:st|nd|rd|th|er)?\b", text)
    assert day
    return month, int(day[1]), "".join(year)


@pytest.mark.parametrize("production", [calendar.date, calendar.day_month, calendar.weekday_date])
def test_dates_say_the_same_day(production: Callable[[Random], Filling]) -> None:
    for source, target in many(production):
        assert date_in(source) == date_in(target), (source, target)
        assert re.search(r"\b1(er)? ", target) is None or "1er" in target


def test_the_first_of_a_month_is_premier_and_no_other() -> None:
    for _, target in many(calendar.date, 2_000):
        assert not re.match(r"1 |[2-9]er|[123]\der", target), target


def test_a_date_in_numbers_has_the_day_first_in_french() -> None:
    dates = [pair for pair in many(calendar.date, 2_000) if "/" in pair[0]]
    assert len(dates) > 20
    for source, target in dates:
        assert re.fullmatch(r"[123]\d/[01]\d/\d{4}", target), (source, target)


def test_centuries_are_roman_and_decades_keep_their_years() -> None:
    assert [roman(n) for n in (1, 4, 9, 14, 19, 20, 21)] == [
        "I", "IV", "IX", "XIV", "XIX", "XX", "XXI",
    ]  # fmt: skip
    for source, target in many(calendar.century):
        numeral = target.removesuffix(" siècle")
        assert numeral == "Ier" or re.fullmatch("[IVX]+e", numeral), (source, target)
    for source, target in many(calendar.decade):
        assert target.startswith("années ")
        if source[0].isdigit():
            assert target == f"années {source[:-1]}"
        elif source[0] == "'":
            assert target == f"années {source[1:-1]}"


def test_number_words() -> None:
    french = {
        21: "vingt et un", 34: "trente-quatre", 71: "soixante et onze", 80: "quatre-vingts",
        81: "quatre-vingt-un", 91: "quatre-vingt-onze", 99: "quatre-vingt-dix-neuf",
        100: "cent", 200: "deux cents", 250: "deux cent cinquante", 380: "trois cent quatre-vingts",
        1000: "mille", 2000: "deux mille", 8500: "huit mille cinq cents",
    }  # fmt: skip
    assert {n: french_words(n) for n in french} == french
    assert english_words(34) == "thirty-four"
    assert english_words(8550) == "eight thousand five hundred and fifty"
    assert len({french_words(n) for n in range(10_000)}) == 10_000
    assert len({english_words(n) for n in range(10_000)}) == 10_000


def test_ordinals() -> None:
    expected = {
        1: ("first", "1st", "premier", "1er"), 2: ("second", "2nd", "deuxième", "2e"),
        4: ("fourth", "4th", "quatrième", "4e"), 5: ("fifth", "5th", "cinquième", "5e"),
        9: ("ninth", "9th", "neuvième", "9e"), 12: ("twelfth", "12th", "douzième", "12e"),
        21: ("twenty-first", "21st", "vingt et unième", "21e"),
        30: ("thirtieth", "30th", "trentième", "30e"),
    }  # fmt: skip
    for n, forms in expected.items():
        found = english_ordinal(n), english_suffix(n), french_ordinal(n), french_suffix(n)
        assert found == forms
    assert (french_ordinal(1, True), french_suffix(1, True)) == ("première", "1re")


def test_countries_have_their_prepositions() -> None:
    to = dict(many(SLOTS["in_country"], 3_000))
    came = dict(many(SLOTS["from_country"], 3_000))
    assert to["in Canada"] == "au Canada"
    assert to["in France"] == "en France"
    assert to["in Iran"] == "en Iran"
    assert to["in the United States"] == "aux États-Unis"
    assert to["in Cuba"] == "à Cuba"
    assert came["from Canada"] == "du Canada"
    assert came["from France"] == "de France"
    assert came["from Iran"] == "d'Iran"
    assert came["from the Netherlands"] == "des Pays-Bas"
    assert came["from Cuba"] == "de Cuba"


COPIES = ("url", "email", "hashtag", "handle", "file", "code", "emoji", "version", "room", "flight",
          "phone", "reference", "postcode", "gate", "seat", "first", "family", "full", "company",
          "iso_date", "year", "fraction", "variable", "function", "command")  # fmt: skip


@pytest.mark.parametrize("slot", COPIES)
def test_what_is_copied_is_the_same_in_both_languages(slot: str) -> None:
    rng = Draw.of(wide(), 4)
    for _ in range(200):
        source, target = sides(fill(rng, slot))
        assert source == target


def test_copies_look_like_what_they_are() -> None:
    shapes = {
        verbatim.url: r"(https?://)?[\w.-]+(\.\w{2,3}|:\d{4})(/[\w./?=#&-]*)?",
        verbatim.email: r"[\w.+-]+@[\w.]+\.\w{2,3}",
        verbatim.hashtag: r"#\w+",
        verbatim.code: r"`[^`]+`",
        verbatim.file_name: r"(C:\\|[.~/]*)?([\w]+[/\\])*[\w-]+(\.[a-z0-9]+)+",
    }
    for production, shape in shapes.items():
        for source, _ in many(production, 200):
            assert re.fullmatch(shape, source), source


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_kind_of_value_stands_in_at_least_fifteen_carrier_sentences(kind: str) -> None:
    slots = set(KINDS[kind])
    found = [t for t in carriers() if slots & {slot.partition("#")[0] for slot in t.slots}]
    assert len(found) >= 15


def test_every_slot_belongs_to_a_kind_or_is_a_noun_phrase() -> None:
    assert set(SLOTS) - {slot for slots in KINDS.values() for slot in slots} == {
        "field", "job", "job.f",
    }  # fmt: skip


FORMS = {
    "time": ("3:30 pm", "3:30 p.m.", "3.30 PM", "3:30pm", "15:30", "09:30", "half past three",
             "ten to four", "three thirty", "3 o'clock", "three in the morning"),
    "date": ("March 14, 1987", "March 14th, 1987", "14 March 1987", "14th of March 1987",
             "the 14th of March, 1987", "March 14 1987", "Mar. 14, 1987", "3/14/1987",
             "14/03/1987"),
    "price": ("$1,250.50", "1,250.50 dollars", "US$50", "US$ 50", "€20", "20 €", "20€",
              "20 euros", "£15", "50 USD", "two hundred euros"),
    "fortune": ("$2.5 billion", "$2.5B", "€3 million"),
    "percent": ("5.2%", "5.2 %", "5 percent", "5 per cent"),
    "count": ("1,250", "1250", "45k"),
    "decimal": ("0.001", "12.75", "1e-4"), "negative": ("-12", "-0.5", "minus twelve"),
    "range": ("10-15", "10–15", "10 to 15"), "multiple": ("2x", "2×", "3 times", "three times"),
    "temperature": ("-5 °C", "-5°C", "68 °F", "20 degrees", "20 degrees Celsius",
                    "minus five degrees"),
    "ordinal": ("5th", "21st", "fifth"), "decade": ("1980s", "80s", "'80s", "eighties"),
    "distance": ("5 km", "5km", "1,200 miles"), "height": ("1.80 m", "6 feet 2 inches", "5'10\""),
}  # fmt: skip


def shape(text: str) -> str:
    """What the form looks like: digits are 0, months are Month, other words of numbers are n."""
    numbers = {english_words(n) for n in range(1, 100)} | {"two hundred"}
    text = re.sub(r"\b(?:" + "|".join(sorted(numbers, key=len, reverse=True)) + r")\b", "n", text)
    text = re.sub(
        r"\b(?:" + "|".join(name for name, _ in calendar.months()) + r")\b", "Month", text
    )
    text = re.sub(r"\b[A-Z][a-z]{2}\. ", "Mon. ", text)
    return re.sub(r"\d+", "0", text).replace("st", "th").replace("nd", "th").replace("rd", "th")


@pytest.mark.parametrize("slot", sorted(FORMS))
def test_a_kind_of_value_is_written_in_all_the_forms_that_people_type(slot: str) -> None:
    rng = Draw.of(wide(), 12)
    written = {shape(sides(fill(rng, slot))[0]) for _ in range(3_000)}
    assert {shape(form) for form in FORMS[slot]} <= written
