"""The French side of noun phrases, places and adverbs: agreement and adjective order."""

from .bitext import Link, Word, phrase, word
from .inflection import french_adjective, french_noun
from .lexicon import Adverbial, Determiner
from .syntax import NounPhrase, Place

_ELIDED = {"de": "d'", "que": "qu'", "ne": "n'", "je": "j'", "me": "m'", "te": "t'", "se": "s'"}
_ARTICLES = {"le": "l'", "la": "l'"}


def small(text: str, *links: Link) -> Word:
    """A small word that may lose its vowel: de, que, ne, je, me, te, se, le, la."""
    return word(text, *links, before_vowel=_ELIDED.get(text) or _ARTICLES.get(text, ""))


def noun_phrase(np: NounPhrase, strong: bool = False) -> list[Word]:
    """The words of a noun phrase; `strong` chooses moi over je."""
    if np.parts:
        left, right = (noun_phrase(part, strong) for part in np.parts)
        return [*left, word("et", np.link("and")), *right]
    if np.pronoun:
        form = np.pronoun.strong if strong else np.pronoun.french_subject
        return [small(form, np.link("noun"))]
    if np.name:
        return [word(np.name, np.link("noun"))]
    assert np.noun
    out = _determiner(np)
    noun = word(french_noun(np.noun, np.plural), np.link("noun"))
    adjective = _adjective(np)
    before = bool(np.adjective) and np.adjective.place == "before" if np.adjective else False
    out += [*adjective, noun] if before else [noun, *adjective]
    if np.possessor:
        out += [small("de", np.link("of")), *noun_phrase(np.possessor, strong=True)]
    return out + (_relative(np) if np.relative else [])


def _adjective(np: NounPhrase) -> list[Word]:
    if not np.adjective:
        return []
    form = french_adjective(np.adjective, np.feminine, np.plural)
    vowel = "" if np.feminine or np.plural else np.adjective.before_vowel
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
        return [small("de", link)]
    if np.determiner.name == "a" and "mass" in np.noun.tags:
        return [small("de", link), _definite(np, link)]
    if np.determiner.name == "a" and np.plural and np.adjective:
        return [small("de" if np.adjective.place == "before" else "des", link)]
    *first, last = _form(np.determiner, np).split()
    vowel = _vowel_form(np.determiner, np) or _ELIDED.get(last, "")
    return [*phrase(first, link), word(last, link, before_vowel=vowel)]


def _definite(np: NounPhrase, link: Link) -> Word:
    return small("les" if np.plural else "la" if np.feminine else "le", link)


def _form(determiner: Determiner, np: NounPhrase) -> str:
    if np.plural:
        return determiner.french_plural
    return determiner.feminine if np.feminine else determiner.masculine


def _vowel_form(determiner: Determiner, np: NounPhrase) -> str:
    if np.plural:
        return ""
    return determiner.feminine_vowel if np.feminine else determiner.masculine_vowel


def _relative(np: NounPhrase) -> list[Word]:
    from .french_clause import clause  # noun phrases and clauses contain each other

    assert np.relative
    pronoun = "qui" if np.relative.extracted == "subject" else "que"
    return [small(pronoun, np.relative.link("relative")), *clause(np.relative)]


def adverbial(what: Adverbial, key: int) -> list[Word]:
    """The words of an adverb, each with the label its English words point to."""
    return [small(text, (f"adv{i}", key)) for i, text in enumerate(what.french)]


def place(what: Place) -> list[Word]:
    """A preposition with its noun phrase."""
    return [*adverbial(what.preposition, id(what)), *noun_phrase(what.phrase, strong=True)]
