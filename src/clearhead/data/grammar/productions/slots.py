"""The slots that carrier sentences may have, by name; noun phrases of the lexicon among them."""

from collections.abc import Callable
from functools import partial

from .. import english, french
from ..choose_phrase import NUMBERS, choose_noun
from ..lexicon import determiners
from ..syntax import NounPhrase
from ..vocabulary import Draw
from . import amounts, calendar, clock, measures, names, verbatim
from .values import Filling

MEASURES = (
    "body_weight", "load", "portion", "span", "distance", "length", "weight", "memory", "speed",
    "volume", "surface", "power", "territory", "energy", "frequency", "moment", "dose", "tiny",
)  # fmt: skip
COUNTRIES = ("in", "to", "from")
_ARTICLES = ("the", "a", "this", "my", "your", "each", "several")
_PLURALS = frozenset({"plural", "french_plural", "english_plural"})


def phrase(rng: Draw, article: str, tag: str, bare: bool = False) -> Filling:
    """A singular noun with this tag behind an article; behind a number (`several`) the plural."""
    several = article == "several"
    without = _PLURALS | {"mass", "unique"} if several else _PLURALS
    noun = choose_noun(rng, frozenset({tag}), without)
    determiner = determiners()[rng.choice(NUMBERS) if several else article]
    np = NounPhrase(3, several, noun.feminine, noun=noun, determiner=determiner, bare=bare)
    sides = english.noun_phrase(np), french.noun_phrase(np)
    return Filling(*sides, "noun_phrase", (), np.feminine)


def job(rng: Draw, feminine: bool = False) -> Filling:
    """`a baker`: boulanger or, of a woman, boulangère, without an article."""
    jobs = frozenset({"job"})
    noun = choose_noun(rng, jobs, _PLURALS)
    while not noun.woman:
        noun = choose_noun(rng, jobs, _PLURALS)
    np = NounPhrase(noun=noun, determiner=determiners()["a"])
    words = english.noun_phrase(np)
    article = words[0]._replace(links=words[-1].links)
    form = noun.woman if feminine else noun.french
    return Filling((article, *words[1:]), french.compound(noun, form, id(np)), "noun_phrase")


SLOTS: dict[str, Callable[[Draw], Filling]] = {
    "first": names.first, "man": partial(names.first, genders=(False,)),
    "woman": partial(names.first, genders=(True,)), "family": names.family,
    "full": names.full, "company": names.company, "city": names.city, "country": names.country,
    **{f"{word}_country": partial(names.with_country, english=word) for word in COUNTRIES},
    "land": names.land, "language": names.language, "nationality": names.nationality,
    "nationality.f": partial(names.nationality, feminine=True),
    "a_nationality": names.a_nationality,
    "date": calendar.date, "day": calendar.day_month, "weekday_date": calendar.weekday_date,
    "nth": calendar.day_of_month, "month": calendar.month, "month_year": calendar.month_year,
    "in_season": calendar.in_season,
    "weekday": calendar.weekday,
    "on_weekday": calendar.on_weekday, "year": calendar.year, "decade": calendar.decade,
    "ancient_year": calendar.ancient_year, "century": calendar.century,
    "iso_date": calendar.iso_date,
    "time": clock.time, "time_span": clock.time_span, "duration": measures.duration,
    "short": partial(measures.duration, kind="short"),
    "years": partial(measures.duration, kind="years"),
    "ages": partial(measures.duration, kind="long"),
    "long_time": partial(measures.attributive, kind="time"),
    "long_way": partial(measures.attributive, kind="distance"),
    "price": amounts.price, "small_price": partial(amounts.price, most=120),
    "fortune": amounts.fortune, "millions": partial(amounts.large, scale=amounts.MILLION),
    "billions": partial(amounts.large, scale=amounts.BILLION),
    "percent": amounts.percent, "rate": partial(amounts.percent, most=25),
    "percent_range": amounts.percent_range,
    "temperature": measures.temperature, "fever": measures.fever, "height": measures.height,
    "oven": partial(measures.temperature, least=120, most=260),
    "count": amounts.count, "few": partial(amounts.count, most=400),
    "count_words": amounts.small_count, "decimal": amounts.decimal, "negative": amounts.negative,
    "range": amounts.number_range, "multiple": amounts.multiple, "fraction": amounts.fraction,
    "share": amounts.share, "ordinal": amounts.ordinal,
    "ordinal.f": partial(amounts.ordinal, feminine=True),
    "age": amounts.age, "year_old": amounts.year_old,
    "child_age": partial(amounts.age, least=2, most=17),
    "score": amounts.score, "points": partial(amounts.score, most=118),
    "url": verbatim.url, "email": verbatim.email, "hashtag": verbatim.hashtag,
    "handle": verbatim.handle, "file": verbatim.file_name, "code": verbatim.code,
    "function": verbatim.function, "command": verbatim.command, **verbatim.SHORT,
    "postcode": verbatim.postcode, "emoji": verbatim.emoji, "version": verbatim.version,
    "room": verbatim.room, "flight": verbatim.flight, "phone": verbatim.phone,
    "reference": verbatim.reference, "job": job, "job.f": partial(job, feminine=True),
    "field": partial(phrase, article="the", tag="field", bare=True),
    **{kind: partial(measures.measure, kind=kind) for kind in MEASURES},
}  # fmt: skip


def is_slot(name: str) -> bool:
    """Whether a name, or an article with a tag (`the transit`, `several layer`), is a slot."""
    article, _, tag = name.partition(" ")
    return name in SLOTS or bool(tag and article in _ARTICLES)


def fill(rng: Draw, name: str) -> Filling:
    """Draw what stands in a slot."""
    if name in SLOTS:
        return SLOTS[name](rng)
    article, _, tag = name.partition(" ")
    return phrase(rng, article, tag)


def put_in_order(fillings: dict[str, Filling]) -> None:
    """From 1914 to 1918, not back in time."""
    if "year#2" in fillings:
        years = sorted((fillings["year"], fillings["year#2"]), key=lambda one: one.values)
        fillings["year"], fillings["year#2"] = years
