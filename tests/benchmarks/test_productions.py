import json
import re
import sys
from typing import Any

import pytest

from benchmarks import productions
from benchmarks.productions import (
    EXACT,
    KINDS,
    THRESHOLDS,
    VERBATIM,
    Case,
    Outcome,
    accepted,
    cases,
    contains,
    is_new,
    table,
    tally,
)
from clearhead.data.grammar import generate_wide
from clearhead.data.grammar.productions.carriers import carry
from clearhead.data.grammar.splits import is_held_out
from clearhead.data.grammar.vocabulary import Draw, wide


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_grammars_own_french_has_every_value(kind: str) -> None:
    for case in cases(kind, 8):
        assert case.required
        assert not case.missing(case.reference), case


@pytest.mark.parametrize("kind", ["date", "time", "price", "count", "phone", "url", "flight"])
def test_a_value_with_another_digit_is_missing(kind: str) -> None:
    changed = 0
    for case in cases(kind, 8):
        if all(any(map(str.isdigit, forms[0])) for forms in case.required):
            changed += 1
            other = re.sub("[0-9]", lambda digit: str((int(digit[0]) + 1) % 10), case.reference)
            assert len(case.missing(other)) == len(case.required), (other, case)
    assert changed > 3


def test_no_sentence_is_in_the_training_split() -> None:
    sources = {case.source for kind in ("month", "person", "email") for case in cases(kind, 20)}
    train = generate_wide("train", 1)
    assert not sources & {next(train).source for _ in range(3_000)}


def test_a_value_that_can_be_held_out_is_held_out() -> None:
    rng, new = Draw.of(wide(), 2), 0
    for _ in range(1200):
        carried = carry(rng)
        if "first" in carried.fillings and is_new(carried, "person", True):
            new += 1
            assert any(map(is_held_out, carried.fillings["first"].values))
    assert new > 3


@pytest.mark.parametrize(
    ("kind", "value", "form"),
    [
        ("time", "15 h 30", "15:30"), ("time", "9 h", "9 heures"), ("time", "12 h", "midi"),
        ("time", "trois heures et demie", "3 heures et demie"),
        ("date", "14 mars 1987", "14/03/1987"), ("date", "14/03/1987", "14 mars 1987"),
        ("price", "20 €", "20 euros"), ("price", "1 250,50 dollars", "1 250,50 $"),
        ("percentage", "5,2 %", "5,2 pour cent"), ("measure", "5 km", "5 kilomètres"),
        ("time", "15 h 30", "3 h 30 de l'après-midi"), ("century", "XIXe siècle", "19e siècle"),
        ("century", "Ier siècle", "premier siècle"),
        ("decade", "années 1980", "années 80"), ("ordinal", "4e", "4ème"),
        ("range", "10 à 15", "10-15"), ("country", "le Canada", "Canada"),
        ("duration", "15 jours", "quinze jours"), ("duration", "deux mois", "2 mois"),
        ("count", "quatre-vingt-deux", "82"), ("month", "au printemps 1986", "printemps de 1986"),
        ("temperature", "-5 degrés Celsius", "-5 °C"),
    ],
)  # fmt: skip
def test_other_forms_are_accepted(kind: str, value: str, form: str) -> None:
    assert accepted(kind, value)[0] == value
    assert form in accepted(kind, value)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("https://a.fr/b", "Voir https://a.fr/b/c."), ("https://a.fr", "Voir https://a.fr/."),
        ("data.csv", "Ouvre data.csv.gz."), ("data.csv", "Ouvre old-data.csv."),
        ("lea@a.fr", "Écris à m.lea@a.fr."), ("lea@a.fr", "Écris à lea@a.fr.com."),
    ],
)  # fmt: skip
def test_a_part_of_a_longer_address_is_not_that_address(form: str, text: str) -> None:
    assert contains(f"Voir ({form}), {form}.", form, exact=True)
    assert not contains(text, form, exact=True)


def test_spaces_may_differ_in_numbers_but_not_in_code() -> None:
    assert contains("Il part à 15h30.", "15 h 30", exact=False)
    assert not contains("Il part à 15 h 300.", "15 h 30", exact=False)
    assert contains("Tape `git  push`.", "`git  push`", exact=True)
    assert not contains("Tape `git  push`.", "`git push`", exact=True)
    assert not contains("Voir Www.a.fr.", "www.a.fr", exact=True)
    assert accepted("code", "x = 1,5") == ("x = 1,5",)


@pytest.mark.parametrize(
    ("value", "translation"),
    [
        ("9 h", "Il part à 9 h 30."), ("15 h 30", "Il part à 3 h 30."),
        ("trois heures", "Il est trois heures et demie."),
        ("neuf heures", "Il est neuf heures moins le quart."), ("midi", "Cet après-midi."),
        ("6 h 30", "Il part à 6 h 30 du soir."), ("6 h", "Il part à 6 h de l'après-midi."),
        ("12 h 30", "Il part à 12 h 30 du matin."), ("18 h 30", "Il part à 18:30 du matin."),
    ],
)  # fmt: skip
def test_another_time_is_not_accepted(value: str, translation: str) -> None:
    assert not any(contains(translation, form, exact=False) for form in accepted("time", value))


def test_the_thresholds_are_those_that_were_asked_for() -> None:
    assert {THRESHOLDS[kind] for kind in EXACT} == {1.0}
    assert {THRESHOLDS[kind] for kind in ("date", "time", "price", "measure")} == {0.95}
    assert set(THRESHOLDS) <= set(KINDS)
    assert set(VERBATIM) <= set(KINDS)


def test_a_kind_below_its_threshold_says_so() -> None:
    good, bad = Outcome("date", "", "", []), Outcome("date", "", "", ["14 mars"])
    assert tally([good, bad])["date"] == {"sentences": 2, "correct": 1}
    rows = list(table([good, bad, Outcome("city", "", "", [])]))
    assert re.search(r"date +1/2 +50.0% +95% no$", rows[1])
    assert any(re.search(r"city +1/1 +100.0%$", row) for row in rows)


class Parrot:
    """A translator that returns the references of the cases it was given."""

    def __init__(self, known: dict[str, str]) -> None:
        self.known = known

    def translate(self, sources: list[str], beam_size: int) -> list[str]:
        return [self.known[source] for source in sources]


def test_the_json_has_every_sentence_and_the_share_of_every_kind(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn: list[Case] = cases("email", 5) + cases("time", 5)
    known = {case.source: case.reference for case in drawn}
    known[drawn[0].source] = "Rien."

    def from_pretrained(model: str | None) -> Any:
        return Parrot(known)

    monkeypatch.setattr(productions.Translator, "from_pretrained", from_pretrained)
    arguments = ["productions", "--json", "--sentences", "5", "--kind", "email", "--kind", "time"]
    monkeypatch.setattr(sys, "argv", arguments)
    productions.main()
    result = json.loads(capsys.readouterr().out)
    assert result["kinds"]["email"] == {"sentences": 5, "correct": 4, "wanted": 1.0}
    assert result["kinds"]["time"] == {"sentences": 5, "correct": 5, "wanted": 0.95}
    assert [row["source"] for row in result["sentences"]] == [case.source for case in drawn]


def test_an_unknown_kind_is_one_line_that_names_the_known_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "argv", ["productions", "--kind", "colour"])
    with pytest.raises(SystemExit, match="'colour' is unknown; choose from date, month"):
        productions.main()
