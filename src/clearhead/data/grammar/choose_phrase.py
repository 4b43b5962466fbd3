"""Draws noun phrases and places: determiner, number, adjective, possessor, pronoun or name."""

from functools import cache
from itertools import accumulate, product

from .inflection import french_adjective
from .lexicon import Adjective, Noun, Pronoun, Tags, determiners, pronouns
from .syntax import NounPhrase, Place
from .vocabulary import Draw, Lexicon, adjective_weight, noun_weights

Weights = tuple[tuple[str, float], ...]

POSSESSIVES = ("my", "your", "his", "her", "our", "their")
NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_GROUPS = {
    "possessive": POSSESSIVES,
    "demonstrative": ("this", "that"),
    "number": NUMBERS,
    "quantity": ("many", "several"),
}
_MASS = (("the", 45), ("a", 35), ("possessive", 14), ("demonstrative", 6))
_NATURAL = (("the", 55), ("a", 38), ("demonstrative", 7))
_PLACE = (("the", 70), ("demonstrative", 20), ("a", 10))
_WILD = (("the", 42), ("a", 26), ("demonstrative", 10), ("number", 12), ("quantity", 5))
_COUNT = (*_WILD, ("possessive", 18))
_UNOWNED = frozenset({"human", "animal", "nature", "transit", "fixture", "unowned"})
_BARE = frozenset({"sport", "bare"})  # no article in English: tennis, biology
_ADJECTIVE_RATE = 0.24
_PLURAL_RATE = 0.3
DEFINITE = frozenset({"the", "possessive", "demonstrative"})
SINGLE = DEFINITE | {"a"}
HUMAN = frozenset({"human"})
_PEOPLE = ("I", "you", "he", "she", "we", "they")
# More weight for I, you and we: names and nouns are always in the third person.
_SUBJECT_WEIGHTS = (0.22, 0.43, 0.55, 0.68, 0.88, 1.0)
_COMPANIONS = frozenset({"kin", "friend"})
# With one of these subjects, these objects would mean the same person.
_SAME = {"I": ("I", "we"), "we": ("I", "we"), "you": ("you",)}


@cache
def matching(lexicon: Lexicon, tags: Tags) -> tuple[tuple[Noun, ...], tuple[float, ...]]:
    """The nouns that have one of the tags, with cumulative weights."""
    found = tuple(noun for noun in lexicon.nouns if noun.tags & tags)
    weights = noun_weights(lexicon)
    return found, tuple(accumulate(weights[noun.english] for noun in found))


def choose_noun(rng: Draw, tags: Tags, without: Tags = frozenset()) -> Noun:
    """A random noun that has one of the tags, drawn again while it has one of `without`."""
    found, weights = matching(rng.lexicon, tags)
    noun = rng.choices(found, cum_weights=weights)[0]
    return choose_noun(rng, tags, without) if without & noun.tags else noun


@cache
def attributes(lexicon: Lexicon, noun: Noun) -> tuple[Adjective, ...]:
    """The adjectives that may stand beside the noun."""
    return tuple(
        a
        for a in lexicon.adjectives
        if a.tags & noun.tags and a.position != "predicate" and not repeats(a, noun)
    )


def repeats(adjective: Adjective, noun: Noun) -> bool:
    """Whether the adjective is part of the noun already: no *chemical chemical reaction*."""
    forms = {french_adjective(adjective, *shape) for shape in product((False, True), repeat=2)}
    return adjective.english in noun.english.split() or bool(forms & set(noun.french.split()))


def _choices(noun: Noun) -> Weights:
    if {"kin", "own"} & noun.tags:
        return (("possessive", 1),)
    if (_BARE | {"unique"}) & noun.tags:
        return (("the", 1),)
    if {"mass", "plural"} & noun.tags:
        return _NATURAL if "unowned" in noun.tags else _MASS
    if "place" in noun.tags and "mine" not in noun.tags:
        return _PLACE
    mine = not _UNOWNED & noun.tags or {"pet", "known_person"} & noun.tags
    return _COUNT if mine else _WILD


def determiner_name(rng: Draw, noun: Noun, only: frozenset[str] = frozenset()) -> str:
    """A determiner that suits the noun, from the kinds in `only` if given."""
    choices = [(kind, w) for kind, w in _choices(noun) if not only or kind in only]
    kinds, weights = zip(*(choices or [("the", 1)]), strict=True)
    kind = rng.choices(kinds, weights)[0]
    return rng.choice(_GROUPS[kind]) if kind in _GROUPS else str(kind)


def common(rng: Draw, noun: Noun, only: frozenset[str] = frozenset()) -> NounPhrase:
    """A noun phrase around `noun`; `only` limits the kinds of determiner."""
    name = determiner_name(rng, noun, only)
    fixed = {"mass", "single"} & noun.tags
    counted = name in (*NUMBERS, *_GROUPS["quantity"])
    always = "plural" in noun.tags
    plural = always or counted or (not fixed and rng.random() < _PLURAL_RATE)
    np = NounPhrase(
        plural=plural,
        feminine=noun.feminine,
        noun=noun,
        determiner=determiners()[name],
        bare=bool(_BARE & noun.tags),
    )
    simple = not (_BARE | {"kin"}) & noun.tags
    if simple and rng.random() < _ADJECTIVE_RATE and attributes(rng.lexicon, noun):
        fitting = attributes(rng.lexicon, noun)
        weights = [adjective_weight(rng.lexicon, a) for a in fitting]
        np.adjective = rng.choices(fitting, weights)[0]
    return np


def from_pronoun(pronoun: Pronoun) -> NounPhrase:
    """A pronoun as a noun phrase."""
    return NounPhrase(pronoun.person, pronoun.plural, pronoun.feminine, pronoun)


def name(rng: Draw) -> NounPhrase:
    """A first name."""
    chosen, feminine = rng.choice(rng.lexicon.names)
    return NounPhrase(feminine=feminine, name=chosen)


def subject(rng: Draw, tags: Tags) -> NounPhrase:
    """A subject; of verbs that people can be the subject of, often a pronoun or a name."""
    if "human" not in tags or rng.random() < (0.27 if len(tags) == 1 else 0.45):
        return owned(rng, common(rng, choose_noun(rng, tags)))
    draw = rng.random()
    if draw < 0.7:
        pronoun = rng.choices(_PEOPLE, cum_weights=_SUBJECT_WEIGHTS)[0]
        return from_pronoun(pronouns()[pronoun])
    return name(rng) if draw < 0.955 else couple(rng)


def owned(rng: Draw, np: NounPhrase) -> NounPhrase:
    """Sometimes replace a possessive by a possessor: `Paul's sister`, `the teacher's car`."""
    possessive = np.determiner and np.determiner.name in POSSESSIVES and not np.adjective
    if possessive and rng.random() < 0.35:
        np.determiner = None
        if rng.random() < 0.7:
            np.possessor = name(rng)
        else:
            owner = common(rng, choose_noun(rng, frozenset({"grown"})), frozenset({"the"}))
            owner.adjective, owner.plural = None, False
            np.possessor = owner
    return np


def couple(rng: Draw) -> NounPhrase:
    """Two names joined by `and`; feminine only if both are."""
    left, right = name(rng), name(rng)
    while right.name == left.name:
        right = name(rng)
    return NounPhrase(3, True, left.feminine and right.feminine, parts=(left, right))


def person(rng: Draw, other: NounPhrase, pronoun_rate: float) -> NounPhrase:
    """A person other than `other`, as receiver or object."""
    draw = rng.random()
    if draw < pronoun_rate:
        same = _SAME.get(other.pronoun.subject, ()) if other.pronoun else ()
        return from_pronoun(pronouns()[rng.choice([p for p in _PEOPLE if p not in same])])
    if draw < pronoun_rate + 0.25:
        someone = name(rng)
        return someone if someone.name != other.name else person(rng, other, pronoun_rate)
    return owned(rng, common(rng, choose_noun(rng, HUMAN), SINGLE))


def thing_pronoun(rng: Draw) -> NounPhrase:
    """`it` or `them`."""
    return from_pronoun(pronouns()["it" if rng.random() < 0.6 else "they"])


def place(rng: Draw, figure: str) -> Place:
    """A place where an `animate`, an `animate animal` or a `thing` can be."""
    preposition = rng.choice([p for p in rng.lexicon.prepositions if p.when in figure.split()])
    np = common(rng, choose_noun(rng, frozenset({preposition.slot})), DEFINITE)
    np.plural = False
    return Place(preposition, np)


def companion(rng: Draw, subject: NounPhrase, english: str = "with") -> Place:
    """`with Paul`, `for my mother`, `with us`."""
    preposition = next(p for p in rng.lexicon.prepositions if p.english == (english,))
    if rng.random() < 0.6:
        return Place(preposition, person(rng, subject, 0.5))
    np = owned(rng, common(rng, choose_noun(rng, _COMPANIONS), frozenset({"possessive"})))
    np.adjective = None
    return Place(preposition, np)


def clashes(left: NounPhrase, right: NounPhrase) -> bool:
    """Whether two nouns are of different kinds (a sad king, a sad film) or the same."""
    if not (left.noun and right.noun):
        return bool(left.noun or right.noun or left.parts or right.parts) or left.name == right.name
    return not alike(left.noun, right.noun) or left.plural != right.plural


def alike(left: Noun, right: Noun) -> bool:
    """Whether they are two nouns of a kind."""
    shared = left.tags & right.tags - {"openable", "breakable", "fixable"}
    return left is not right and bool(shared)
