"""The English side: noun phrases, verbs with their auxiliaries, questions, negation, word order."""

from .bitext import Link, Word, phrase, word
from .bitext import words as segments
from .inflection import be, english_noun, english_s, ing, past, third_person
from .lexicon import Adverbial, Noun
from .syntax import Clause, NounPhrase, Place

# By sound, not by letter: a university, a useful tool, an honest man, an hour.
_CONSONANT_SOUND = ("uni", "use", "usb", "eu", "one", "ukr", "urug")
_VOWEL_SOUND = ("hon", "hour", "x-ray")
_QUESTION_WORDS = {
    "where": ["where"], "why": ["why"], "when": ["when"], "who": ["who"], "what": ["what"],
    "how many": ["how", "many"],
}  # fmt: skip
_CONNECTIVES = {"that": "that", "whether": "if", "because": "because", "and": "and", "but": "but"}
_IRREGULAR_NOT = {"will": "won't", "can": "can't"}


def takes_an(following: str) -> bool:
    """Whether the indefinite article before this word is `an`."""
    lower = following.lower()
    if lower.startswith(_VOWEL_SOUND):
        return not lower.startswith("honey")
    return lower[0] in "aeiou" and not lower.startswith(_CONSONANT_SOUND)


def noun_phrase(np: NounPhrase, subject: bool = False) -> list[Word]:
    """The words of a noun phrase; `subject` chooses I over me."""
    if np.parts:
        left, right = (noun_phrase(part, subject) for part in np.parts)
        return [*left, word("and", np.link("and")), *right]
    if np.pronoun:
        form = np.pronoun.subject if subject else np.pronoun.object
        return [word(form, np.link("noun"))]
    if np.name:
        return [word(np.name, np.link("noun"))]
    assert np.noun
    out = [*noun_phrase(np.possessor), word("'s", np.link("of"))] if np.possessor else []
    before = np.adjective.english.split() if np.adjective else []
    noun = english_noun(np.noun, np.english_plural)
    if np.determiner and not np.bare:
        out.append(word(_determiner(np, (before or [noun])[0]), np.link("det")))
    out += [word(text, np.link("adj")) for text in before]
    out += compound(np.noun, noun, id(np))
    return out + (_relative(np) if np.relative else [])


def compound(noun: Noun, form: str, key: int) -> list[Word]:
    """The words of a noun's form; each of a compound's is linked to its own French words.

    All carry the label `noun` as well: a French article that English lacks belongs to them.
    """
    if not noun.links:
        return [word(form, ("noun", key))]
    return [
        word(text, ("noun", key), *((f"noun{t}", key) for s, t in noun.links if s == index))
        for index, text in enumerate(segments(form))
    ]


def _determiner(np: NounPhrase, following: str) -> str:
    assert np.determiner and np.noun
    if np.determiner.name != "a":
        return np.determiner.plural if np.english_plural else np.determiner.singular
    if np.english_plural or "mass" in np.noun.tags:
        return "any" if np.scope else "some"
    return "an" if takes_an(following) else "a"


def _relative(np: NounPhrase) -> list[Word]:
    assert np.relative and np.noun
    human = {"human", "infant"} & np.noun.tags
    pronoun = "who" if human and np.relative.extracted == "subject" else "that"
    return [word(pronoun, np.relative.link("relative")), *clause(np.relative)]


def adverbial(what: Adverbial, key: int) -> list[Word]:
    """The words of an adverb, each linked to its own French words."""
    pairs = [[t for s, t in what.links if s == i] for i in range(len(what.english))]
    return [
        word(text, *((f"adv{t}", key) for t in targets))
        for text, targets in zip(what.english, pairs, strict=True)
    ]


def place(what: Place) -> list[Word]:
    """A preposition with its noun phrase."""
    return [*adverbial(what.preposition, id(what)), *noun_phrase(what.phrase)]


def verb_particles(texts: tuple[str, ...], key: int, governed: bool) -> list[Word]:
    """What follows the verb word: `for` in look for, `hungry` in be hungry.

    `governed`: the last particle is the counterpart of a French preposition.
    """
    if not governed or not texts:
        return phrase(texts, ("particle", key))
    return [*phrase(texts[:-1], ("particle", key)), word(texts[-1], ("prep", key))]


def clause(c: Clause) -> list[Word]:
    """The words of a clause, final punctuation not included."""
    inverted = c.asks and c.mood != "who"
    operator, rest = _verb_group(c)
    if not operator and (inverted or c.polarity == "not" or (c.mood == "imperative" and rest)):
        operator, rest = _do_support(c, rest)
    negated = _negated(c, operator, inverted)
    hidden = c.extracted == "subject" or c.mood in ("who", "imperative")
    subject = [] if hidden else noun_phrase(c.subject, subject=True)
    front = _front(c)
    middle = [w for a in c.adverbs if a.slot == "frequency" for w in adverbial(a, id(a))]
    if c.polarity == "never":
        middle.append(word("never", *_denial(c)))
    body = [*subject, *negated] if not inverted else [*negated, *subject]
    return [*front, *body, *middle, *rest, *_complements(c), *_connected(c)]


def _front(c: Clause) -> list[Word]:
    out = [word(text, c.link("wh")) for text in _QUESTION_WORDS.get(c.mood, [])]
    if c.mood == "how many":
        assert c.direct
        out += noun_phrase(c.direct)
    return out


def _verb_group(c: Clause) -> tuple[str, list[Word]]:
    """The operator, empty where there is none yet, and the words after it."""
    head, person, plural = c.verb.english[0], c.subject.person, c.subject.english_plural
    lexical = ("finite", id(c)), ("verb", id(c))
    if c.modal in ("can", "must"):
        return c.modal, [word(head, c.link("verb"))]
    if c.modal == "going":
        to = [word("going", c.link("finite")), word("to", c.link("finite"))]
        return be("present", person, plural), [*to, word(head, c.link("verb"))]
    if c.modal == "want":
        want = english_s("want") if person == 3 and not plural else "want"
        to = [word(want, c.link("finite")), word("to", c.link("finite"))]
        return "", [*to, word(head, c.link("verb"))]
    if c.tense == "future":
        return "will", [word(head, c.link("verb"))]
    if head == "be":
        return be(c.tense, person, plural), []
    if c.progressive:
        return be("present", person, plural), [word(ing(head), c.link("verb"))]
    if c.tense == "past":
        return "", [word(past(head), *lexical)]
    third = person == 3 and not plural
    return "", [word(third_person(head) if third else head, *lexical)]


def _do_support(c: Clause, rest: list[Word]) -> tuple[str, list[Word]]:
    base = "want" if c.modal == "want" else c.verb.english[0]
    link = c.link("finite" if c.modal else "verb")
    rest = [word(base, link), *rest[1:]]
    if c.mood == "imperative":
        return ("do" if c.polarity == "not" else ""), rest
    if c.tense == "past":
        return "did", rest
    third = c.subject.person == 3 and not c.subject.english_plural
    return "does" if third else "do", rest


def _negated(c: Clause, operator: str, inverted: bool) -> list[Word]:
    """The operator with its negation: `does not`, `doesn't`, `cannot`, `am not`."""
    if not operator:
        return []
    links = [c.link("finite"), c.link("question")] if inverted else [c.link("finite")]
    if c.verb.english[0] == "be" and not c.modal and c.tense != "future":
        links.append(c.link("verb"))
    if c.polarity != "not":
        return [word(operator, *links)]
    if c.contracted and operator != "am":
        return [word(_IRREGULAR_NOT.get(operator, operator + "n't"), *links, *_denial(c))]
    if operator == "can":
        return [word("cannot", *links, *_denial(c))]
    return [word(operator, *links), word("not", *_denial(c))]


def _denial(c: Clause) -> list[Link]:
    """The links of *not*: French has two words, ne … pas."""
    return [c.link("not"), c.link("ne")]


def _complements(c: Clause) -> list[Word]:
    """Everything after the verb word: particles, objects, adverbs, places, time."""
    out = verb_particles(c.verb.english[1:], id(c), bool(c.indirect and c.preposition))
    moved = c.extracted == "direct" or c.mood in ("what", "how many")
    direct = noun_phrase(c.direct) if c.direct and not moved else []
    if "separable" in c.verb.features and c.direct and c.direct.pronoun:
        return direct + out + _adjuncts(c)  # turns it on, but turns on the light
    if c.verb.frame == "give" and c.indirect:
        out += _given(c, direct)
    else:
        out += direct + (noun_phrase(c.indirect) if c.indirect else [])
    if c.adjective:
        out += _predicate(c)
    return out + _adjuncts(c)


def _adjuncts(c: Clause) -> list[Word]:
    out: list[Word] = []
    for slot in ("degree", "manner", "place"):
        out += [w for a in c.adverbs if a.slot == slot for w in adverbial(a, id(a))]
    out += [w for item in c.places for w in place(item)]
    return out + [w for a in c.adverbs if a.slot == "time" for w in adverbial(a, id(a))]


def _given(c: Clause, direct: list[Word]) -> list[Word]:
    """`gives him the book`, but `gives it to him` and `explains the problem to him`."""
    assert c.indirect
    receiver = noun_phrase(c.indirect)
    fronted = c.indirect.pronoun and "to" not in c.verb.features and direct
    if fronted and c.direct and not c.direct.pronoun:
        return [*receiver, *direct]
    return [*direct, word("to", c.link("prep")), *receiver]


def _predicate(c: Clause) -> list[Word]:
    assert c.adjective
    if not c.standard:
        return [word(c.adjective.english, c.link("adj"))]
    *more, form = c.adjective.comparative.split()
    out = [word(text, c.link("more")) for text in more]
    out.append(word(form, c.link("adj"), *([] if more else [c.link("more")])))
    return [*out, word("than", c.link("than")), *noun_phrase(c.standard, subject=False)]


def _connected(c: Clause) -> list[Word]:
    if not c.complement:
        return []
    return [word(_CONNECTIVES[c.connective], c.link("connective")), *clause(c.complement)]
