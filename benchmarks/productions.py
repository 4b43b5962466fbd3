"""How many values of held-out productions arrive correctly in a model's translations, by kind.

    python benchmarks/productions.py [--model DIRECTORY] [--sentences 60] [--beam-size 4] [--show]

Every kind of value of the wide grammar (dates, times, prices, names, URLs …) is drawn into
carrier sentences that training never has. Where single values are held out of training
(the name *Amara*, 15:37, March 14, 1,250) the value in the sentence is one of them; other kinds,
such as months or ordinals, have few values, and only the sentence is new. A value is correct if
the translation contains it in one of its accepted French forms: 15 h 37, 15h37 or 15:37;
20 € or 20 euros. URLs, e-mail addresses, file names and code are compared letter by letter.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from random import Random
from zlib import crc32

from clearhead import Translator
from clearhead.compare.timing import describe_machine
from clearhead.data.grammar.bitext import french_text, join_french
from clearhead.data.grammar.productions.calendar import months
from clearhead.data.grammar.productions.carriers import Carried, Template, carriers, carry
from clearhead.data.grammar.productions.slots import MEASURES, fill
from clearhead.data.grammar.productions.values import (
    Filling,
    french_ordinal,
    french_suffix,
    french_words,
    roman,
)
from clearhead.data.grammar.splits import is_held_out, split_of
from clearhead.data.grammar.vocabulary import Draw, wide
from clearhead.errors import UserError

# What a reader would call one kind of value, and the slots that it fills.
KINDS: dict[str, tuple[str, ...]] = {
    "date": ("date", "day", "weekday_date", "nth", "iso_date"),
    "month": ("month", "month_year", "in_season", "weekday", "on_weekday"),
    "time": ("time", "time_span"), "year": ("year", "ancient_year"), "decade": ("decade",),
    "century": ("century",), "duration": ("duration", "short", "years", "ages", "long_time"),
    "price": ("price", "small_price", "fortune"),
    "percentage": ("percent", "rate", "percent_range"),
    "measure": (*MEASURES, "height", "long_way"),
    "temperature": ("temperature", "oven", "fever"),
    "count": ("count", "few", "count_words", "millions", "billions", "age", "child_age",
              "year_old"),
    "decimal": ("decimal", "negative"), "range": ("range",), "multiple": ("multiple",),
    "fraction": ("fraction", "share"), "ordinal": ("ordinal", "ordinal.f"),
    "score": ("score", "points"), "room": ("room", "seat", "gate", "number"),
    "flight": ("flight",), "phone": ("phone",), "reference": ("reference", "postcode"),
    "version": ("version",), "person": ("first", "man", "woman", "family", "full"),
    "city": ("city",), "country": ("country", "in_country", "to_country", "from_country", "land"),
    "nationality": ("nationality", "nationality.f", "a_nationality"), "language": ("language",),
    "company": ("company",), "url": ("url",), "email": ("email",), "hashtag": ("hashtag",),
    "handle": ("handle",), "file": ("file",),
    "code": ("code", "variable", "function", "command"), "emoji": ("emoji",),
}  # fmt: skip
VERBATIM = ("url", "email", "hashtag", "handle", "file", "code", "emoji")
MEASURED = ("date", "time", "price", "measure", "temperature", "percentage", "duration")
EXACT = ("url", "email", "code")
THRESHOLDS = {**dict.fromkeys(MEASURED, 0.95), **dict.fromkeys(EXACT, 1.0)}
TRIES = 200_000
MINUTES = "cinq|dix|quinze|vingt|trente|quarante|cinquante"

# What a French reader takes for the same: each form may stand for the other ones of its row.
SAME = (
    ("dollars", "$"), ("dollar", "$"), ("€", "euros", "euro"), ("livres", "£", "livres sterling"),
    ("yens", "¥"), ("roupies", "₹"), ("dollars américains", "$ US", "dollars US"),
    ("dollars canadiens", "$ CA", "$ canadiens"), ("USD", "dollars américains"),
    ("EUR", "euros", "€"), ("GBP", "livres sterling", "livres"), ("CHF", "francs suisses"),
    ("%", "pour cent"), ("°C", "degrés Celsius"), ("°F", "degrés Fahrenheit"),
    ("km", "kilomètres"), ("m", "mètres", "mètre"), ("cm", "centimètres"), ("mm", "millimètres"),
    ("kg", "kilos", "kilogrammes"), ("g", "grammes"), ("mg", "milligrammes"), ("t", "tonnes"),
    ("Go", "gigaoctets"), ("Mo", "mégaoctets"), ("To", "téraoctets"), ("ko", "kilooctets"),
    ("l", "L", "litres"), ("ml", "mL", "millilitres"), ("cl", "centilitres"),
    ("km/h", "kilomètres à l'heure", "kilomètres par heure"), ("m²", "mètres carrés"),
    ("miles à l'heure", "mph", "miles par heure"), ("km²", "kilomètres carrés"), ("W", "watts"),
    ("s", "secondes"), ("ms", "millisecondes"), ("µm", "micromètres"), ("nm", "nanomètres"),
    ("Hz", "hertz"), ("kcal", "kilocalories"), ("av. J.-C.", "avant J.-C.", "avant Jésus-Christ"),
    ("apr. J.-C.", "après J.-C.", "après Jésus-Christ"),
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A sentence with the values of one kind that its translation has to contain."""

    kind: str
    source: str
    reference: str
    required: tuple[tuple[str, ...], ...]  # of each value, its accepted forms

    def missing(self, translation: str) -> list[str]:
        """The first form of every value that occurs in none of its forms."""
        exact = self.kind in VERBATIM
        return [
            forms[0]
            for forms in self.required
            if not any(contains(translation, form, exact) for form in forms)
        ]


@dataclass(frozen=True)
class Outcome:
    """The translation of one case."""

    kind: str
    source: str
    translation: str
    missing: list[str]


def cases(kind: str, count: int, seed: int = 0) -> list[Case]:
    """Different sentences with a value of this kind, none of them in the training split.

    Raises:
        UserError: the grammar has fewer.
    """
    rng = Draw.of(wide(), crc32(f"{kind} {seed}".encode()))
    usable = [template for template in carriers() if slots_of(template, kind)]
    has_values = any(fill(rng, slot).values for slot in KINDS[kind] for _ in range(30))
    found: dict[str, Case] = {}
    for _ in range(TRIES):
        carried = carry(rng, rng.choice(usable))
        if is_new(carried, kind, has_values):
            found.setdefault(carried.text, case(carried, kind))
        if len(found) == count:
            return list(found.values())
    raise UserError(f"only {len(found)} held-out sentences of kind {kind!r}; expected {count}")


def slots_of(template: Template, kind: str) -> list[str]:
    """The slots of a carrier that values of this kind fill."""
    return [slot for slot in template.slots if slot.partition("#")[0] in KINDS[kind]]


def is_new(carried: Carried, kind: str, has_values: bool) -> bool:
    """Whether training has neither the sentence nor, where values are held out, this one."""
    if has_values:
        fillings = [carried.fillings[slot] for slot in slots_of(carried.template, kind)]
        return all(any(map(is_held_out, filling.values)) for filling in fillings)
    return split_of(carried.text, carried.values) != "train"


def case(carried: Carried, kind: str) -> Case:
    """The sentence with what its translation has to contain."""
    slots = slots_of(carried.template, kind)
    required = tuple(accepted(kind, written(carried.fillings[slot])) for slot in slots)
    return Case(kind, carried.text, carried.pair().target, required)


def written(filling: Filling) -> str:
    """The French of a value, as it stands in the middle of a sentence."""
    words = join_french(list(filling.french))
    return words[0].text[0] + french_text(words)[1:]


def accepted(kind: str, value: str) -> tuple[str, ...]:
    """The forms in which a French reader accepts a value, the grammar's own first."""
    if kind in VERBATIM:
        return (value,)
    plain = re.sub(r"\s", " ", value)
    plain = re.sub(r" (?:de|d')$", "", plain)  # what is counted follows: 3 millions de mots
    forms = [plain, *OTHER_FORMS.get(kind, no_others)(plain), *other_number(plain)]
    for row in SAME:
        ending = next((f" {name}" for name in row if plain.endswith(f" {name}")), "")
        forms += [f"{plain.removesuffix(ending)} {name}" for name in row] if ending else []
    return tuple(dict.fromkeys(forms))


def times(value: str) -> list[str]:
    """`6 h 30` as 6:30, 06 h 30, 6 heures 30, 6 h 30 du matin; `9 h` is not part of `9 h 30`."""
    found = re.fullmatch(r"(\d+) h(?: (\d\d))?", value)
    if not found:
        return []
    hour, minute = int(found[1]), found[2] or ""
    shown = minute or "00"
    forms = [f"{hour}:{shown}", f"{hour:02d}:{shown}", f"{hour} h {shown}", f"{hour:02d} h {shown}"]
    forms += [f"{hour} heures {minute}".strip()]
    forms += [{0: "minuit", 12: "midi"}[hour]] if not minute and hour in (0, 12) else []
    parts = ("du matin",) if hour < 12 else ("de l'après-midi", "du soir") if hour > 12 else ()
    names = ("h", "heures")
    forms += [f"{hour % 12 or 12} {h} {minute}".strip() + f" {p}" for h in names for p in parts]
    return forms


def other_number(value: str) -> list[str]:
    """`quinze jours` as 15 jours, and the other way."""
    start, space, rest = value.partition(" ")
    if start.isdigit() and 1 < int(start) < 100:
        return [french_words(int(start)) + space + rest]
    numbers = {french_words(number): str(number) for number in range(2, 100)}
    found = [words for words in numbers if value == words or value.startswith(f"{words} ")]
    longest = max(found, key=len, default="")
    return [numbers[longest] + value.removeprefix(longest)] if longest else []


def dates(value: str) -> list[str]:
    """`14 mars 1987` as 14/03/1987, and the other way."""
    names = [french for _, french in months()]
    found = re.fullmatch(r"(\d+)/(\d+)/(\d+)", value)
    if found:
        return [f"{int(found[1])} {names[int(found[2]) - 1]} {found[3]}"]
    parts = value.split(" ")
    month = next((str(n) for n, name in enumerate(names, start=1) if name in parts), "")
    day = parts[0].removesuffix("er")
    in_words = [value.replace("1er", "1")] if parts[0] == "1er" else []
    return in_words + ([f"{day:0>2}/{month:0>2}/{parts[-1]}"] if month and len(parts) == 3 else [])


def centuries(value: str) -> list[str]:
    """`XIXe siècle` as 19e siècle and dix-neuvième siècle."""
    numerals = {roman(number): number for number in range(1, 22)}
    number = numerals[re.sub("er? siècle$", "", value)]
    names = french_suffix(number), f"{number}ème", french_ordinal(number), f"{roman(number)}ème"
    return [f"{name} siècle" for name in names]


def ranges(value: str) -> list[str]:
    """`10 à 15` as 10-15, and the other way."""
    return [value.replace(" à ", mark) for mark in ("-", "–")] + [value.replace("-", " à ")]


def seasons(value: str) -> list[str]:
    """`au printemps 1986` as printemps 1986 and printemps de 1986."""
    season = re.sub("^(?:au |à l')", "", value)
    return [season, season.replace(" ", " de ")]


def without_article(value: str) -> list[str]:
    """`le Caire` as Caire, which is also in *du Caire*."""
    return [re.sub("^(?:le|la|Le|La) |^l'", "", value)]


def no_others(value: str) -> list[str]:
    """The value itself is the only form."""
    return [value]


OTHER_FORMS: dict[str, Callable[[str], list[str]]] = {
    "time": times, "date": dates, "century": centuries, "month": seasons,
    "decade": lambda value: [value.replace(" 19", " ")],
    "ordinal": lambda value: [value + "me", re.sub("e$", "ème", value)],
    "range": ranges, "percentage": ranges, "score": ranges,
    "city": without_article, "country": without_article,
}  # fmt: skip


def contains(text: str, form: str, exact: bool) -> bool:
    """Whether the form occurs in the text, and not as a part of a longer name or number.

    Unless `exact`, a space of the form stands for any space or none, and case is ignored.
    """
    if exact:
        before, after = r"(?<![\w@])(?<!\w[./@-])", r"(?![\w@]|/|[.-]\w)"
        return re.search(before + re.escape(form) + after, text) is not None
    core = r"\s*".join(re.escape(part) for part in form.split())
    before, after = r"(?<!\w)(?<!\w[./@-])", r"(?!\w|[./@-]\w)"
    before += r"(?<!\d[\s,])" if form[0].isdigit() else ""
    after += r"(?![\s,]\d)" if form[-1].isdigit() else ""
    if re.search(r"\b(?:h|heures?)$", form):  # 9 h 30 and neuf heures et demie are other times
        after += rf"(?!\s*(?:\d|et (?:demie|quart)|moins|{MINUTES}))"
    clock = re.match(r"(\d+)(?: (?:h|heures)|:)(?: ?\d\d)?$", form)
    if clock:  # 6 h 30 du soir and 12 h 30 du matin are other times
        other = "du (?:soir|matin)" if clock[1] == "12" else "du soir|de l'après-midi"
        after += r"(?!\s*du matin)" if int(clock[1]) > 12 else rf"(?!\s*(?:{other}))"
    return re.search(before + core + after, text, re.IGNORECASE) is not None


def table(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """A header and one row a kind; a kind with a threshold says whether it is reached."""
    yield f"{'kind':12} {'correct':>9} {'':>7} {'wanted':>7}"
    for kind, row in tally(outcomes).items():
        share, wanted = row["correct"] / row["sentences"], THRESHOLDS.get(kind)
        correct = f"{row['correct']}/{row['sentences']}"
        mark = "" if wanted is None else f"{wanted:7.0%} {'yes' if share >= wanted else 'no'}"
        yield f"{kind:12} {correct:>9} {share:7.1%} {mark}".rstrip()


def tally(outcomes: Sequence[Outcome]) -> dict[str, dict[str, int]]:
    """The sentences of each kind and how many are correct; last those of all kinds."""
    rows = {kind: {"sentences": 0, "correct": 0} for kind in (*KINDS, "all")}
    for outcome in outcomes:
        for kind in (outcome.kind, "all"):
            rows[kind]["sentences"] += 1
            rows[kind]["correct"] += not outcome.missing
    return {kind: row for kind, row in rows.items() if row["sentences"]}


def listing(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """Every sentence in whose translation a value is missing."""
    for outcome in outcomes:
        if outcome.missing:
            yield f"{outcome.kind}: {outcome.source}"
            yield f"    {outcome.translation}"
            yield f"    missing: {', '.join(outcome.missing)}"


def run(arguments: argparse.Namespace) -> None:
    """Translate, compare and print."""
    unknown = set(arguments.kind or ()) - set(KINDS)
    if unknown:
        raise UserError(f"kind {min(unknown)!r} is unknown; choose from {', '.join(KINDS)}")
    kinds = arguments.kind or list(KINDS)
    drawn = [one for kind in kinds for one in cases(kind, arguments.sentences)]
    order = Random(0).sample(range(len(drawn)), len(drawn))  # batches of mixed lengths
    translator = Translator.from_pretrained(arguments.model)
    texts = translator.translate([drawn[i].source for i in order], beam_size=arguments.beam_size)
    translations = dict(zip(order, texts, strict=True))
    outcomes = [
        Outcome(one.kind, one.source, translations[i], one.missing(translations[i]))
        for i, one in enumerate(drawn)
    ]
    setting = f"model {arguments.model or 'shipped'}, beam size {arguments.beam_size}"
    if arguments.json:
        rows = {k: row | {"wanted": THRESHOLDS.get(k)} for k, row in tally(outcomes).items()}
        result = {"setting": setting, "kinds": rows, "sentences": [asdict(o) for o in outcomes]}
        print(json.dumps(result, ensure_ascii=False, indent=1))
        return
    if arguments.show:
        print(*listing(outcomes), "", sep="\n")
    print(describe_machine(), setting, *table(outcomes), sep="\n")


def main() -> None:
    """Read the command line; an error of the user is one line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--model", help="a model directory (default: the shipped model)")
    parser.add_argument("--kind", action="append", help="only this kind (may be repeated)")
    parser.add_argument("--sentences", type=int, default=60, help="sentences of each kind")
    parser.add_argument("--beam-size", type=int, default=4)
    parser.add_argument("--show", action="store_true", help="print the sentences with a fault")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    try:
        run(parser.parse_args())
    except UserError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
