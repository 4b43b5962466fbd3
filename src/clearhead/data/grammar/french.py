"""The French side: noun phrases with agreement and adjective order, clauses, questions."""

from .bitext import Link, Word, elidable, phrase, word
from .bitext import words as segments
from .french_verbs import adverbial, verb_group
from .inflection import french_adjective, french_noun
from .lexicon import Determiner, Noun
from .syntax import Clause, NounPhrase, Place

_QUESTION_WORDS = {"where": "où", "why": "pourquoi", "when": "quand", "who": "qui"}
_ARTICLES = frozenset({"un", "une", "du", "des", "de"})
_CONNECTIVES = {"that": "que", "whether": "si", "and": "et", "but": "mais"}


def noun_phrase(np: NounPhrase, strong: bool = False) -> list[Word]:
    """The words of a noun phrase; `strong` chooses moi over je."""
    if np.parts:
        left, right = (noun_phrase(part, strong) for part in np.parts)
        return [*left, word("et", np.link("and")), *right]
    if np.pronoun:
        form = np.pronoun.strong if strong else np.pronoun.french_subject
        return [elidable(form, np.link("noun"))]
    if np.name:
        return [word(np.name, np.link("noun"))]
    assert np.noun
    out = _determiner(np)
    noun = compound(np.noun, french_noun(np.noun, np.french_plural), id(np))
    adjective = _adjective(np)
    before = np.adjective and np.adjective.position == "before"
    out += [*adjective, *noun] if before else [*noun, *adjective]
    if np.possessor:
        out += [elidable("de", np.link("of")), *noun_phrase(np.possessor, strong=True)]
    return out + (_relative(np) if np.relative else [])


def compound(noun: Noun, form: str, key: int) -> list[Word]:
    """The words of a noun's form, each with the label its English words point to."""
    if not noun.links:
        return [word(form, ("noun", key))]
    return [word(text, (f"noun{index}", key)) for index, text in enumerate(segments(form))]


def _adjective(np: NounPhrase) -> list[Word]:
    if not np.adjective:
        return []
    form = french_adjective(np.adjective, np.feminine, np.french_plural)
    vowel = "" if np.feminine or np.french_plural else np.adjective.before_vowel
    return [word(form, np.link("adj"), before_vowel=vowel)]


def _determiner(np: NounPhrase) -> list[Word]:
    assert np.noun
    if np.possessor:
        return [_definite(np, np.link("of"))]
    if np.bare:
        return [_definite(np, np.link("noun"))]
    if not np.determiner:
        return []
    link = np.link("det")
    if np.determiner.name == "a" and np.scope == "negative":
        return [elidable("de", link)]
    if np.determiner.name == "a" and "mass" in np.noun.tags:
        return [elidable("de", link), _definite(np, link)]
    if np.determiner.name == "a" and np.french_plural and np.adjective:
        return [elidable("de" if np.adjective.position == "before" else "des", link)]
    form, vowel = _forms(np.determiner, np)
    *first, last = form.split()
    final = word(last, link, before_vowel=vowel) if vowel else elidable(last, link)
    return [*phrase(first, link), final]


def _definite(np: NounPhrase, link: Link) -> Word:
    return elidable("les" if np.french_plural else "la" if np.feminine else "le", link)


def _forms(determiner: Determiner, np: NounPhrase) -> tuple[str, str]:
    """The form of a determiner, and that before a vowel, if it has one."""
    if np.french_plural:
        return determiner.french_plural, ""
    if np.feminine:
        return determiner.feminine, determiner.feminine_vowel
    return determiner.masculine, determiner.masculine_vowel


def _relative(np: NounPhrase) -> list[Word]:
    assert np.relative
    pronoun = "qui" if np.relative.extracted == "subject" else "que"
    return [elidable(pronoun, np.relative.link("relative")), *clause(np.relative)]


def place(what: Place) -> list[Word]:
    """A preposition with its noun phrase."""
    return [*adverbial(what.preposition, id(what)), *noun_phrase(what.phrase, strong=True)]


def clause(c: Clause) -> list[Word]:
    """The words of a clause before elision, final punctuation not included."""
    group = verb_group(c)
    if c.mood == "where" and c.verb.lemma == "be":
        return [word("où", c.link("wh")), *group, *noun_phrase(c.subject)]
    return [*_front(c), *_subject(c), *group, *_complements(c), *_connected(c)]


def _front(c: Clause) -> list[Word]:
    wh, ask = c.link("wh"), c.link("question")
    question = [word("est-ce", ask), elidable("que", ask)]
    if c.mood == "what":
        return [elidable("que", wh), *question]
    if c.mood == "how many":
        assert c.direct
        many = [word("combien", wh), elidable("de", wh)]
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
    out = [elidable(text, c.link(_tail(c))) for text in _after_verb(c)]
    if c.direct and not c.direct.pronoun and c.mood not in ("what", "how many"):
        out += noun_phrase(c.direct) if c.extracted != "direct" else []
    out += _indirect(c)
    if c.adjective:
        out += _predicate(c)
    for slot in ("manner", "place"):
        out += [w for a in c.adverbs if a.slot == slot for w in adverbial(a, id(a))]
    out += [w for item in c.places for w in place(item)]
    return out + [w for a in c.adverbs if a.slot == "time" for w in adverbial(a, id(a))]


def _after_verb(c: Clause) -> tuple[str, ...]:
    """The French words that belong to the verb: after a negation *du bruit* is *de bruit*."""
    words = c.verb.french[1:]
    if c.polarity == "positive" or not words or words[0] not in _ARTICLES:
        return words
    partitive = words[:1] == ("de",) and words[1:2] in (("la",), ("l'",))
    if words[0] != "de":
        return ("de", *words[1:])
    return ("de", *words[2:]) if partitive else words


def _tail(c: Clause) -> str:
    """What the French words after the verb translate: *besoin*, *autour*, *à jour*."""
    particles = len(c.verb.english) - 1
    if particles == 1 and c.indirect and c.preposition:
        return "prep"  # revolves around: the one particle governs the noun, too
    return "particle" if particles else "verb"


def _indirect(c: Clause) -> list[Word]:
    if not c.indirect or (c.indirect.pronoun and "dative" in c.verb.features):
        return []
    links = [c.link("prep")]
    if len(c.verb.english) == 1 and c.verb.frame != "give":
        links.append(c.link("verb"))  # English has no preposition: answers, enters, plays
    return [elidable(c.preposition, *links), *noun_phrase(c.indirect, strong=True)]


def _predicate(c: Clause) -> list[Word]:
    assert c.adjective
    form = french_adjective(c.adjective, c.subject.feminine, c.subject.french_plural)
    if not c.standard:
        return [word(form, c.link("adj"))]
    out = [word("plus", c.link("more")), word(form, c.link("adj"))]
    return [*out, elidable("que", c.link("than")), *noun_phrase(c.standard, strong=True)]


def _connected(c: Clause) -> list[Word]:
    if not c.complement:
        return []
    link = c.link("connective")
    if c.connective == "because":
        joint = [word("parce", link), elidable("que", link)]
    else:
        joint = [elidable(_CONNECTIVES[c.connective], link)]
    return [*joint, *clause(c.complement)]
