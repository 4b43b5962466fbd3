"""The French verb and what clings to it: ne, clitic pronouns, auxiliary, participle, pas."""

from . import french_conjugation as conjugation
from .bitext import Word, word
from .french import adverbial, small
from .syntax import Clause, NounPhrase

_MODALS = {"can": "pouvoir", "must": "devoir", "want": "vouloir", "going": "aller"}
_REFLEXIVE = ("me", "te", "se", "nous", "vous", "se")


def person_index(np: NounPhrase) -> int:
    """The row of a conjugation table: je tu il nous vous ils = 0 … 5."""
    return np.person - 1 + 3 * np.plural


def verb_group(c: Clause) -> list[Word]:
    """`ne l'a pas vue`, `ne veux pas te voir`, `se lèvera souvent`: all but the complements."""
    clitics = _clitics(c)
    modal = bool(c.modal)
    group = [small("ne", c.link("ne"))] if c.polarity != "positive" else []
    group += [_finite(c)] if modal else [*clitics, _finite(c)]
    if c.polarity != "positive":
        group.append(word("pas" if c.polarity == "not" else "jamais", c.link("not")))
    middle = [a for a in c.adverbs if a.slot in ("frequency", "degree")]
    adverbs = [w for a in middle for w in adverbial(a, id(a))]
    if modal:
        return [*group, *clitics, word(c.verb.french[0], *_lexical(c)), *adverbs]
    return [*group, *adverbs, *_participle(c)]


def is_compound(c: Clause) -> bool:
    """Whether the past is a passé composé: states are told in the imparfait."""
    return c.tense == "past" and not c.modal and "state" not in c.verb.features


def _lexical(c: Clause) -> list[tuple[str, int]]:
    """The links of the word that carries the verb's meaning."""
    links = [c.link("verb")]
    if len(c.verb.english) > 1 and len(c.verb.french) == 1:
        links.append(c.link("particle"))
    return links


def _finite(c: Clause) -> Word:
    index = 2 if c.verb.frame == "there" else person_index(c.subject)  # il y a, also of many
    if c.modal:
        return word(conjugation.present(_MODALS[c.modal])[index], c.link("finite"))
    if is_compound(c):
        auxiliary = "être" if _takes_être(c) else "avoir"
        return word(conjugation.present(auxiliary)[index], c.link("finite"))
    verb = c.verb.french[0]
    links = [c.link("finite"), *_lexical(c)]
    if c.mood == "imperative":
        return word(conjugation.imperative(verb), *links)
    tables = {
        "present": conjugation.present,
        "future": conjugation.future,
        "past": conjugation.imperfect,
    }
    return word(tables[c.tense](verb)[index], *links)


def _takes_être(c: Clause) -> bool:
    return c.verb.reflexive or "être" in c.verb.features


def _participle(c: Clause) -> list[Word]:
    if not is_compound(c):
        return []
    agrees = c.subject if _takes_être(c) else _preceding_object(c)
    feminine, plural = (agrees.feminine, agrees.plural) if agrees else (False, False)
    return [word(conjugation.participle(c.verb.french[0], feminine, plural), *_lexical(c))]


def _preceding_object(c: Clause) -> NounPhrase | None:
    """The direct object that stands before the verb, with which the participle agrees."""
    if c.extracted == "direct":
        return c.antecedent
    if c.direct and (c.direct.pronoun or c.mood == "how many"):
        return c.direct
    return None


def _clitics(c: Clause) -> list[Word]:
    """Me, te, se, nous before le, la, les before lui, leur."""
    out = []
    if c.verb.frame == "there":
        out.append(word("y", c.subject.link("noun")))
    if c.verb.reflexive:
        form = _REFLEXIVE[person_index(c.subject)]
        out.append(small(form, *_lexical(c)))
    direct = c.direct.pronoun if c.direct else None
    indirect = c.indirect.pronoun if c.indirect and "dative" in c.verb.features else None
    if direct and c.direct:
        out.append(small(direct.direct, c.direct.link("noun")))
    if indirect and c.indirect:
        clitic = small(indirect.indirect, c.indirect.link("noun"), c.link("prep"))
        out.insert(len(out) if indirect.indirect in ("lui", "leur") else 0, clitic)
    return out
