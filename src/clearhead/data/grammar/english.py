"""The English side of noun phrases, places and adverbs, and the finished sentence."""

from collections.abc import Sequence

from .bitext import Word, phrase, word
from .inflection import english_noun
from .lexicon import Adverbial
from .syntax import NounPhrase, Place

# By sound, not by letter: a university, a useful tool, an honest man, an hour.
_CONSONANT_SOUND = ("uni", "use", "eu", "one")
_VOWEL_SOUND = ("hon", "hour")


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
    out = _possessor(np) if np.possessor else []
    before = np.adjective.english.split() if np.adjective else []
    noun = english_noun(np.noun, np.plural)
    if np.determiner and not np.bare:
        out.append(word(_determiner(np, (before or [noun])[0]), np.link("det")))
    out += [word(text, np.link("adj")) for text in before]
    out.append(word(noun, np.link("noun")))
    return out + (_relative(np) if np.relative else [])


def _possessor(np: NounPhrase) -> list[Word]:
    assert np.possessor
    return [*noun_phrase(np.possessor), word("'s", np.link("of"))]


def _determiner(np: NounPhrase, following: str) -> str:
    assert np.determiner and np.noun
    if np.determiner.name != "a":
        return np.determiner.plural if np.plural else np.determiner.singular
    if np.plural or "mass" in np.noun.tags:
        return "any" if np.scope else "some"
    return "an" if takes_an(following) else "a"


def _relative(np: NounPhrase) -> list[Word]:
    from .english_clause import clause  # noun phrases and clauses contain each other

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


def text(words: Sequence[Word]) -> str:
    """The sentence as it is written, from its words and punctuation."""
    out = words[0].text
    for item in words[1:]:
        out += item.text if item.text in ".?!,'s" else f" {item.text}"
    return out[0].upper() + out[1:]
