"""The French verb: conjugation, and the words around it (ne, pas, clitic pronouns, auxiliary)."""

from functools import cache

from .bitext import Word, elidable, word
from .lexicon import Adverbial, table
from .syntax import Clause, NounPhrase

_ENDINGS = {
    "er": ("e", "es", "e", "ons", "ez", "ent"),
    "ir": ("is", "is", "it", "issons", "issez", "issent"),
    "re": ("s", "s", "", "ons", "ez", "ent"),
}
_PARTICIPLE = {"er": "é", "ir": "i", "re": "u"}
_FUTURE = ("ai", "as", "a", "ons", "ez", "ont")
_IMPERFECT = ("ais", "ais", "ait", "ions", "iez", "aient")
# appeler doubles its consonant where acheter takes a grave accent.
_DOUBLING = frozenset({"appeler", "jeter", "rejeter", "épeler", "renouveler", "étiqueter"})
_MODALS = {"can": "pouvoir", "must": "devoir", "want": "vouloir", "going": "aller"}
_REFLEXIVE = ("me", "te", "se", "nous", "vous", "se")


@cache
def _irregular() -> dict[str, tuple[tuple[str, ...], str, str]]:
    rows = table("french_irregular_verbs")
    return {verb: (tuple(present.split()), past, stem) for verb, present, past, stem in rows}


def _silent_stem(infinitive: str) -> str:
    """The stem of an -er verb before a silent ending: achèt-, appell-, protèg-, balai-."""
    stem = infinitive[:-2]
    if infinitive in _DOUBLING:
        return stem + stem[-1]
    if len(stem) > 2 and stem[-2] in "eé" and stem[-1] not in "aeiouyéhxw" and stem[-3:-1] != "ue":
        return f"{stem[:-2]}è{stem[-1]}"
    if _acute_before_two(stem):
        return f"{stem[:-3]}è{stem[-2:]}"
    return stem[:-1] + "i" if stem.endswith(("ay", "oy", "uy")) else stem


def _acute_before_two(stem: str) -> bool:
    """Whether an é stands before two consonants that begin a syllable: célébrer, régner."""
    return len(stem) > 3 and stem[-3] == "é" and stem[-2:] in ("gn", "gl", "br", "tr", "dr")


def _first_group(infinitive: str, ending: str) -> str:
    stem = infinitive[:-2]
    if ending in ("e", "es", "ent"):
        return _silent_stem(infinitive) + ending
    if ending[0] in "ao" and stem.endswith("g"):
        return f"{stem}e{ending}"
    if ending[0] in "ao" and stem.endswith("c"):
        return f"{stem[:-1]}ç{ending}"
    return stem + ending


@cache
def present(infinitive: str) -> tuple[str, ...]:
    """The six forms of the present: je, tu, il, nous, vous, ils."""
    if infinitive in _irregular():
        return _irregular()[infinitive][0]
    group = infinitive[-2:]
    if group == "er":
        return tuple(_first_group(infinitive, ending) for ending in _ENDINGS["er"])
    return tuple(infinitive[:-2] + ending for ending in _ENDINGS[group])


@cache
def future(infinitive: str) -> tuple[str, ...]:
    """The six forms of the simple future."""
    if infinitive in _irregular():
        stem = _irregular()[infinitive][2]
    elif infinitive.endswith("er"):
        # préférer keeps its é in the future (préférera), acheter takes its è (achètera).
        keeps = infinitive[-4:-3] == "é" or _acute_before_two(infinitive[:-2])
        kept = infinitive[:-2] if keeps else _silent_stem(infinitive)
        stem = f"{kept}er"
    else:
        stem = infinitive.removesuffix("e")
    return tuple(stem + ending for ending in _FUTURE)


@cache
def imperfect(infinitive: str) -> tuple[str, ...]:
    """The six forms of the imparfait, from the nous form of the present."""
    if infinitive == "être":
        return tuple("ét" + ending for ending in _IMPERFECT)
    if infinitive.endswith("er") and infinitive not in _irregular():
        return tuple(_first_group(infinitive, ending) for ending in _IMPERFECT)
    stem = present(infinitive)[3].removesuffix("ons")
    return tuple(stem + ending for ending in _IMPERFECT)


@cache
def participle(infinitive: str, feminine: bool = False, plural: bool = False) -> str:
    """The past participle with its agreement."""
    if infinitive in _irregular():
        base = _irregular()[infinitive][1]
    else:
        base = infinitive[:-2] + _PARTICIPLE[infinitive[-2:]]
    if base == "dû" and (feminine or plural):
        base = "du"
    return f"{base}e{'s' * plural}" if feminine else base + "s" * (plural and base[-1] != "s")


def imperative(infinitive: str) -> str:
    """The familiar imperative: the tu form, without the -s of -es and vas."""
    form = present(infinitive)[1]
    return form[:-1] if form.endswith(("es", "as")) else form


def person_index(np: NounPhrase) -> int:
    """The row of a conjugation table: je tu il nous vous ils = 0 … 5."""
    return np.person - 1 + 3 * np.french_plural


def verb_group(c: Clause) -> list[Word]:
    """`ne l'a pas vue`, `ne veux pas te voir`, `se lèvera souvent`: all but the complements."""
    clitics = _clitics(c)
    modal = bool(c.modal)
    group = [elidable("ne", c.link("ne"))] if c.polarity != "positive" else []
    group += [_finite(c)] if modal else [*clitics, _finite(c)]
    if c.polarity != "positive":
        group.append(word("pas" if c.polarity == "not" else "jamais", c.link("not")))
    middle = [a for a in c.adverbs if a.slot in ("frequency", "degree")]
    adverbs = [w for a in middle for w in adverbial(a, id(a))]
    if modal:
        return [*group, *clitics, word(c.verb.french[0], *_lexical(c)), *adverbs]
    return [*group, *adverbs, *_participle(c)]


def is_compound(c: Clause) -> bool:
    """Whether the past is a passé composé; verbs of state have the imparfait."""
    return c.tense == "past" and not c.modal and "state" not in c.verb.features


def _lexical(c: Clause) -> list[tuple[str, int]]:
    """The links of the word that carries the verb's meaning."""
    links = [c.link("verb")]
    if len(c.verb.english) > 1 and len(c.verb.french) == 1:
        links.append(c.link("particle"))
    return links


def _finite(c: Clause) -> Word:
    index = 2 if c.verb.frame == "there" else person_index(c.subject)  # il y a, also in the plural
    if c.modal:
        return word(present(_MODALS[c.modal])[index], c.link("finite"))
    if is_compound(c):
        auxiliary = "être" if _takes_être(c) else "avoir"
        return word(present(auxiliary)[index], c.link("finite"))
    verb = c.verb.french[0]
    links = [c.link("finite"), *_lexical(c)]
    if c.mood == "imperative":
        return word(imperative(verb), *links)
    tables = {"present": present, "future": future, "past": imperfect}
    return word(tables[c.tense](verb)[index], *links)


def _takes_être(c: Clause) -> bool:
    return c.verb.reflexive or "être" in c.verb.features


def _participle(c: Clause) -> list[Word]:
    if not is_compound(c):
        return []
    agrees = c.subject if _takes_être(c) else _preceding_object(c)
    feminine, plural = (agrees.feminine, agrees.french_plural) if agrees else (False, False)
    return [word(participle(c.verb.french[0], feminine, plural), *_lexical(c))]


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
        out.append(elidable(form, *_lexical(c)))
    direct = c.direct.pronoun if c.direct else None
    indirect = c.indirect.pronoun if c.indirect and "dative" in c.verb.features else None
    if direct and c.direct:
        out.append(elidable(direct.direct, c.direct.link("noun")))
    if indirect and c.indirect:
        clitic = elidable(indirect.indirect, c.indirect.link("noun"), c.link("prep"))
        out.insert(len(out) if indirect.indirect in ("lui", "leur") else 0, clitic)
    return out


def adverbial(what: Adverbial, key: int) -> list[Word]:
    """The words of an adverb, each with the label its English words point to."""
    return [elidable(text, (f"adv{i}", key)) for i, text in enumerate(what.french)]
