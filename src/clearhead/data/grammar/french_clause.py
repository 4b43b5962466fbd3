"""The French side of a clause: est-ce que, question words, word order."""

from .bitext import Word, word
from .french import adverbial, noun_phrase, place, small
from .french_verb_group import verb_group
from .inflection import french_adjective
from .syntax import Clause

_QUESTION_WORDS = {"where": "où", "why": "pourquoi", "when": "quand", "who": "qui"}
_CONNECTIVES = {"that": "que", "whether": "si", "and": "et", "but": "mais"}


def clause(c: Clause) -> list[Word]:
    """The words of a clause before elision, final punctuation not included."""
    group = verb_group(c)
    if c.mood == "where" and c.verb.lemma == "be":
        return [word("où", c.link("wh")), *group, *noun_phrase(c.subject)]
    return [*_front(c), *_subject(c), *group, *_complements(c), *_connected(c)]


def _front(c: Clause) -> list[Word]:
    wh, ask = c.link("wh"), c.link("question")
    question = [word("est-ce", ask), small("que", ask)]
    if c.mood == "what":
        return [small("que", wh), *question]
    if c.mood == "how many":
        assert c.direct
        many = [word("combien", wh), small("de", wh)]
        return [*many, *noun_phrase(c.direct), *question]
    if c.mood == "who":
        return [word("qui", wh)]
    if c.mood == "question":
        return question
    return [word(_QUESTION_WORDS[c.mood], wh), *question] if c.asks else []


def _subject(c: Clause) -> list[Word]:
    if c.extracted == "subject" or c.mood in ("who", "imperative"):
        return []
    if c.verb.frame == "there":
        return [word("il", c.subject.link("noun"))]
    return noun_phrase(c.subject)


def _complements(c: Clause) -> list[Word]:
    tail = [c.link("particle")] if len(c.verb.english) > 1 else [c.link("verb")]
    out = [word(text, *tail) for text in c.verb.french[1:]]
    if c.direct and not c.direct.pronoun and c.mood not in ("what", "how many"):
        out += noun_phrase(c.direct) if c.extracted != "direct" else []
    out += _indirect(c)
    if c.adjective:
        out += _predicate(c)
    for slot in ("manner", "place"):
        out += [w for a in c.adverbs if a.slot == slot for w in adverbial(a, id(a))]
    out += [w for item in c.places for w in place(item)]
    return out + [w for a in c.adverbs if a.slot == "time" for w in adverbial(a, id(a))]


def _indirect(c: Clause) -> list[Word]:
    if not c.indirect or (c.indirect.pronoun and "dative" in c.verb.features):
        return []
    links = [c.link("prep")]
    if len(c.verb.english) == 1 and c.verb.frame != "give":
        links.append(c.link("verb"))  # English has no preposition: answers, enters, plays
    return [small(c.preposition, *links), *noun_phrase(c.indirect, strong=True)]


def _predicate(c: Clause) -> list[Word]:
    assert c.adjective
    form = french_adjective(c.adjective, c.subject.feminine, c.subject.plural)
    if not c.standard:
        return [word(form, c.link("adj"))]
    out = [word("plus", c.link("more")), word(form, c.link("adj"))]
    return [*out, small("que", c.link("than")), *noun_phrase(c.standard, strong=True)]


def _connected(c: Clause) -> list[Word]:
    if not c.complement:
        return []
    link = c.link("connective")
    if c.connective == "because":
        joint = [word("parce", link), small("que", link)]
    else:
        joint = [small(_CONNECTIVES[c.connective], link)]
    return [*joint, *clause(c.complement)]
