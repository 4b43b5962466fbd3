"""French verbs: present, passé composé, imparfait, futur, as tables and rules make them."""

from functools import cache

from .lexicon import table

_ENDINGS = {
    "er": ("e", "es", "e", "ons", "ez", "ent"),
    "ir": ("is", "is", "it", "issons", "issez", "issent"),
    "re": ("s", "s", "", "ons", "ez", "ent"),
}
_PARTICIPLE = {"er": "é", "ir": "i", "re": "u"}
_FUTURE = ("ai", "as", "a", "ons", "ez", "ont")
_IMPERFECT = ("ais", "ais", "ait", "ions", "iez", "aient")
# appeler doubles its consonant where acheter takes a grave accent.
_DOUBLING = frozenset({"appeler", "jeter"})


@cache
def _irregular() -> dict[str, tuple[tuple[str, ...], str, str]]:
    rows = table("french_irregular_verbs")
    return {verb: (tuple(present.split()), past, stem) for verb, present, past, stem in rows}


def _silent_stem(infinitive: str) -> str:
    """The stem of an -er verb before a silent ending: achèt-, appell-, protèg-, balai-."""
    stem = infinitive[:-2]
    if infinitive in _DOUBLING:
        return stem + stem[-1]
    if len(stem) > 2 and stem[-2] in "eé" and stem[-1] not in "aeiouyéhx" and stem[-3:-1] != "ue":
        return f"{stem[:-2]}è{stem[-1]}"
    if len(stem) > 3 and stem[-3] == "é" and stem[-2:] in ("gn", "gl"):
        return f"{stem[:-3]}è{stem[-2:]}"
    return stem[:-1] + "i" if stem.endswith(("oy", "uy")) else stem


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
        kept = infinitive[:-2] if infinitive[-4:-3] == "é" else _silent_stem(infinitive)
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
