"""What a derivation contains: its phenomena, and which word stands in which construction."""

from .settle import has_pronoun_object
from .syntax import Clause, NounPhrase, clauses, phrases

PHENOMENA = (
    "present", "past", "future", "negation", "question", "wh_question", "imperative",
    "prohibition", "modal", "agreement", "adjective_before", "adjective_after", "comparison",
    "number", "possessive", "partitive", "plural", "elision", "contraction", "object_pronoun",
    "double_pronoun", "reflexive", "relative_clause", "subordinate_clause", "existential",
    "adverb", "place",
)  # fmt: skip

Feature = tuple[str, str]
_POSSESSIVES = frozenset({"my", "your", "his", "her", "our", "their"})
_NOT_NUMBERS = frozenset({"the", "a", "this", "that", "each"}) | _POSSESSIVES


def describe(sentence: Clause) -> tuple[set[str], set[Feature]]:
    """The phenomena a tree shows, and which word stands in which construction.

    Elision and contraction are not among them: they show on the surface only.
    """
    found: set[str] = set()
    meetings: set[Feature] = set()
    for c in clauses(sentence):
        names = _of_clause(c)
        found |= names
        meetings |= {(c.verb.lemma, name) for name in names}
        for np in phrases(c):
            if not np.pronoun:
                found |= _of_phrase(np)
                meetings |= _around_noun(np, c)
    return found, meetings


def _of_clause(c: Clause) -> set[str]:
    one = bool(c.direct and c.direct.pronoun)
    tests = {
        c.tense: not c.modal and c.mood != "imperative",
        "negation": c.polarity != "positive",
        "question": c.asks,
        "wh_question": c.asks and c.mood != "question",
        "imperative": c.mood == "imperative",
        "prohibition": c.mood == "imperative" and c.polarity != "positive",
        "modal": bool(c.modal),
        "agreement": bool(c.adjective or (c.tense == "past" and "être" in c.verb.features)),
        "comparison": c.standard is not None,
        "object_pronoun": has_pronoun_object(c),
        "double_pronoun": one and bool(c.indirect and c.indirect.pronoun),
        "reflexive": c.verb.reflexive,
        "relative_clause": bool(c.extracted),
        "subordinate_clause": bool(c.connective),
        "existential": c.verb.frame == "there",
        "adverb": bool(c.adverbs),
        "place": bool(c.places),
    }
    return {name for name, holds in tests.items() if holds}


def _of_phrase(np: NounPhrase) -> set[str]:
    name = np.determiner.name if np.determiner else ""
    tests = {
        "adjective_before": bool(np.adjective and np.adjective.place == "before"),
        "adjective_after": bool(np.adjective and np.adjective.place == "after"),
        "agreement": np.adjective is not None,
        "possessive": name in _POSSESSIVES or np.possessor is not None,
        "number": bool(name) and name not in _NOT_NUMBERS,
        "partitive": bool(np.noun and name == "a" and "mass" in np.noun.tags),
        "plural": bool(np.noun and np.plural),
    }
    return {label for label, holds in tests.items() if holds}


def _around_noun(np: NounPhrase, c: Clause) -> set[Feature]:
    if np.name:
        return {(np.name, "question")} if c.asks else set()
    if not np.noun:
        return set()
    lemma, found = np.noun.english, set[Feature]()
    if np.adjective:
        found |= {(lemma, np.adjective.place), (lemma, np.adjective.english)}
    if np.relative:
        found.add((lemma, "relative_clause"))
    if np.scope == "negative":
        found.add((lemma, "negation"))
    if np.possessor:
        found.add((lemma, "possessor"))
    return found
