"""What is said, before any language says it: noun phrases and clauses.

A sentence is a tree of these; the English and the French side are both read off
the same tree, so agreement, order and alignment follow from one derivation.
"""

from dataclasses import dataclass, field

from .bitext import Link
from .lexicon import Adjective, Adverbial, Determiner, Noun, Pronoun, Verb


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
        """The label that ties a part of this phrase in both languages."""
        return (part, id(self))


@dataclass(slots=True, eq=False)
class Place:
    """A preposition with its noun phrase: `near the station`, `with Paul`."""

    preposition: Adverbial
    phrase: NounPhrase


@dataclass(slots=True, eq=False)
class Clause:
    """One clause; whatever is None or empty is not said."""

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
        """The label that ties a part of this clause in both languages."""
        return (part, id(self))

    @property
    def asks(self) -> bool:
        """Whether the clause is a question of any kind."""
        return self.mood not in ("statement", "imperative")


def phrases(clause: Clause) -> list[NounPhrase]:
    """The noun phrases of a clause itself, in order, without those inside other clauses."""
    who = None if clause.extracted == "subject" else clause.subject  # the antecedent itself
    own = [who, clause.direct, clause.indirect, clause.standard]
    found = [phrase for phrase in own if phrase] + [place.phrase for place in clause.places]
    return found + [phrase.possessor for phrase in found if phrase.possessor]


def clauses(clause: Clause) -> list[Clause]:
    """A clause with all clauses inside it, outermost first."""
    found = [clause]
    for phrase in phrases(clause):
        for part in phrase.parts or (phrase,):
            found += clauses(part.relative) if part.relative else []
    return found + (clauses(clause.complement) if clause.complement else [])
