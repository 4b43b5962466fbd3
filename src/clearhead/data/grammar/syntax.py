"""The tree of a sentence, from which both languages are read, and the phenomena that it shows.

Both sides come from the same noun phrases and clauses, so agreement, word order and alignment
follow from one derivation.
"""

from dataclasses import dataclass, field

from .bitext import Link
from .lexicon import Adjective, Adverbial, Determiner, Noun, Pronoun, Verb

BE = Verb(("be",), ("être",), False, "be", frozenset(), frozenset(), frozenset({"state"}))
THERE = Verb(("be",), ("avoir",), False, "there", frozenset(), frozenset(), frozenset({"state"}))


@dataclass(slots=True, eq=False)
class NounPhrase:
    """A pronoun, a name, a noun with what belongs to it, or two of these joined by `and`."""

    person: int = 3
    plural: bool = False
    feminine: bool = False
    pronoun: Pronoun | None = None
    name: str = ""
    noun: Noun | None = None
    determiner: Determiner | None = None
    bare: bool = False  # English has no article where French has the definite one
    scope: str = ""  # "negative" or "question": some becomes any, un becomes de
    adjective: Adjective | None = None
    possessor: "NounPhrase | None" = None
    relative: "Clause | None" = None
    parts: tuple["NounPhrase", ...] = ()

    def link(self, part: str) -> Link:
        """The label that links a part of this phrase in both languages."""
        return (part, id(self))

    @property
    def english_plural(self) -> bool:
        """Whether it is plural in English: *the police are here*, *la police est là*."""
        return self.plural or bool(self.noun and "english_plural" in self.noun.tags)

    @property
    def french_plural(self) -> bool:
        """Whether it is plural in French: *the data is noisy*, *les données sont bruitées*."""
        return self.plural or bool(self.noun and "french_plural" in self.noun.tags)


@dataclass(slots=True, eq=False)
class Place:
    """A preposition with its noun phrase: `near the station`, `with Paul`."""

    preposition: Adverbial
    phrase: NounPhrase


@dataclass(slots=True, eq=False)
class Clause:
    """One clause; what is None or empty does not occur in it."""

    construction: str
    verb: Verb
    subject: NounPhrase
    tense: str = "present"
    polarity: str = "positive"  # or "not" or "never"
    mood: str = "statement"  # or question, imperative, where, why, when, who, what, how many
    contracted: bool = True
    progressive: bool = False
    modal: str = ""  # can, must, want, going
    direct: NounPhrase | None = None
    indirect: NounPhrase | None = None
    preposition: str = ""  # what governs `indirect` in French
    adjective: Adjective | None = None
    standard: NounPhrase | None = None  # of a comparison: taller than *she*
    adverbs: list[Adverbial] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    connective: str = ""  # that, whether, because, and
    complement: "Clause | None" = None
    extracted: str = ""  # in a relative clause: "subject" or "direct"
    antecedent: NounPhrase | None = None

    def link(self, part: str) -> Link:
        """The label that links a part of this clause in both languages."""
        return (part, id(self))

    @property
    def asks(self) -> bool:
        """Whether the clause is a question of any kind."""
        return self.mood not in ("statement", "imperative")


def phrases(clause: Clause) -> list[NounPhrase]:
    """The noun phrases of a clause itself, in order, without those inside other clauses."""
    subject = None if clause.extracted == "subject" else clause.subject  # is the antecedent
    own = [subject, clause.direct, clause.indirect, clause.standard]
    found = [phrase for phrase in own if phrase] + [place.phrase for place in clause.places]
    return found + [phrase.possessor for phrase in found if phrase.possessor]


def clauses(clause: Clause) -> list[Clause]:
    """A clause with all clauses inside it, outermost first."""
    found = [clause]
    for phrase in phrases(clause):
        for part in phrase.parts or (phrase,):
            found += clauses(part.relative) if part.relative else []
    return found + (clauses(clause.complement) if clause.complement else [])


def has_pronoun_object(clause: Clause) -> bool:
    """Whether an object stands as a clitic before the French verb."""
    indirect = clause.indirect and clause.indirect.pronoun and "dative" in clause.verb.features
    return bool((clause.direct and clause.direct.pronoun) or indirect)


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
        "adjective_before": bool(np.adjective and np.adjective.position == "before"),
        "adjective_after": bool(np.adjective and np.adjective.position == "after"),
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
        found |= {(lemma, np.adjective.position), (lemma, np.adjective.english)}
    if np.relative:
        found.add((lemma, "relative_clause"))
    if np.scope == "negative":
        found.add((lemma, "negation"))
    if np.possessor:
        found.add((lemma, "possessor"))
    return found


# Training never has these words in these constructions. Each word, in the form that it has
# here, and each construction are common in training; only their combination is held out. (Hence
# prohibitions: `Open the door!` would need `Open` with a capital, which no other construction
# shows: a gap of vocabulary, not of grammar. And `brother`, not `uncle`: nothing else would
# show that *oncle* takes *l'*.)
HELD_OUT_WORDS: frozenset[Feature] = frozenset(
    [(verb, "negation") for verb in ("wash", "dance", "choose", "call", "admire", "sleep")]
    + [(verb, "question") for verb in ("draw", "swim", "carry", "invite", "repair", "wake up")]
    + [(verb, "object_pronoun") for verb in ("thank", "protect", "hide", "read", "send")]
    + [(verb, "prohibition") for verb in ("bring", "open", "use", "sing")]
    + [(noun, "before") for noun in ("tree", "castle", "dress", "horse", "umbrella")]
    + [(noun, "after") for noun in ("chair", "hat", "novel", "bus")]
    + [(noun, "relative_clause") for noun in ("cake", "dog", "letter", "nurse", "bike", "soldier")]
    + [(noun, "negation") for noun in ("tomato", "shirt", "bread", "key", "water", "guitar")]
    + [(noun, "possessor") for noun in ("phone", "brother", "boat", "shoe")]
    + [(name, "question") for name in ("Simon", "Julie")]
)

HELD_OUT_CONSTRUCTIONS: tuple[frozenset[str], ...] = (
    frozenset({"question", "negation", "object_pronoun"}),
    frozenset({"question", "relative_clause"}),
    frozenset({"comparison", "negation"}),
    frozenset({"double_pronoun"}),
)


def held_out_split(phenomena: set[str], meetings: set[Feature]) -> str:
    """The split for which training leaves out a tree that shows these; empty if it does not."""
    if any(together <= phenomena for together in HELD_OUT_CONSTRUCTIONS):
        return "held_out_constructions"
    return "" if HELD_OUT_WORDS.isdisjoint(meetings) else "held_out_words"
