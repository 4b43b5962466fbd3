"""The small closed tables: determiners, pronouns, names, adverbials, prepositions."""

from functools import cache

from .lexicon import Adverbial, Determiner, Pronoun, adverbial, table


@cache
def determiners() -> dict[str, Determiner]:
    """Determiners by name; numbers included."""
    return {row[0]: Determiner(*row) for row in table("determiners")}


@cache
def pronouns() -> dict[str, Pronoun]:
    """Personal pronouns by their English subject form."""
    return {row[0]: _pronoun(row) for row in table("pronouns")}


def _pronoun(row: list[str]) -> Pronoun:
    subject, object_, french, direct, indirect, strong, person, number, gender = row
    forms = (subject, object_, french, direct, indirect, strong)
    return Pronoun(*forms, int(person), number == "p", gender == "f")


@cache
def names() -> tuple[tuple[str, bool], ...]:
    """First names with whether they are a woman's."""
    return tuple((name, gender == "f") for name, gender in table("names"))


@cache
def adverbials() -> tuple[Adverbial, ...]:
    """Adverbs and time phrases."""
    return tuple(adverbial(*row) for row in table("adverbials"))


@cache
def prepositions() -> tuple[Adverbial, ...]:
    """Prepositions; `slot` is what stands behind them, `when` what can be found there."""
    return tuple(adverbial(*row) for row in table("prepositions"))
