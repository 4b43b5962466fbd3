"""The wide lexicon: large, every entry of use, and a malformed line named by file and number."""

import re
from collections.abc import Callable
from functools import partial

import pytest

from clearhead.data.grammar import themes
from clearhead.data.grammar.bitext import words
from clearhead.data.grammar.choose_clause import _MANNERS, clause, in_frame
from clearhead.data.grammar.inflection import english_noun, french_noun
from clearhead.data.grammar.lexicon import group_by_kind, read_table
from clearhead.data.grammar.productions.carriers import carriers
from clearhead.data.grammar.productions.carriers import parse as parse_carriers
from clearhead.data.grammar.productions.slots import SLOTS
from clearhead.data.grammar.splits import WIDE_CONSTRUCTIONS
from clearhead.data.grammar.themes import FORMS, THEMES, parse, rows
from clearhead.data.grammar.vocabulary import Draw, check_unique, small, wide
from clearhead.errors import UserError

HEADER = "# theme: food\n"
Build = Callable[..., object]
BUILDERS: dict[str, Build] = {
    "noun": themes.noun,
    "adjective": themes.adjective,
    "verb": themes.verb,
    "adverbial": themes.adverbial,
    "preposition": themes.prepositions,
}


def read(line: str) -> object:
    (row,) = parse(HEADER + line, "food.tsv")
    return BUILDERS[row.kind](row)


def test_at_least_2500_entries_beyond_the_small_lexicon() -> None:
    found = {(row.kind, row.english, row.french) for theme in THEMES for row in rows(theme)}
    assert len(found) >= 2_500
    assert all(rows(theme) for theme in THEMES)


def test_what_people_become_has_one_french_word() -> None:
    rng, found = Draw.of(wide(), 1), dict[str, set[str]]()
    (verb,) = in_frame(wide(), "become")
    for _ in range(300):
        if adjective := clause(rng, "become", verb).adjective:
            found.setdefault(adjective.english, set()).add(adjective.french)
    assert found["serious"] == {"sérieux"}
    assert all(len(french) == 1 for french in found.values())


def test_every_noun_has_a_verb_an_adjective_or_a_preposition_that_takes_it() -> None:
    lexicon = wide()
    taken = {tag for verb in lexicon.verbs for tag in verb.subjects | verb.objects}
    taken |= {preposition.slot for preposition in lexicon.prepositions}
    taken |= {tag for adjective in lexicon.adjectives for tag in adjective.tags}
    assert not [noun.english for noun in lexicon.nouns if not noun.tags & taken]


def test_every_tag_that_is_asked_for_is_a_tag_of_some_noun() -> None:
    lexicon = wide()
    known = {tag for noun in lexicon.nouns for tag in noun.tags}
    asked = {(v.lemma, tag) for v in lexicon.verbs for tag in v.subjects | v.objects}
    asked |= {(a.english, tag) for a in lexicon.adjectives for tag in a.tags}
    asked |= {(" ".join(p.english), p.slot) for p in lexicon.prepositions if p.slot}
    assert not {(who, tag) for who, tag in asked if tag not in known}


def test_every_frame_and_every_adverbial_is_used_by_some_construction() -> None:
    frames = {verb.frame for verb in wide().verbs}
    assert frames <= FORMS["verb"] | {"become"}
    assert len(WIDE_CONSTRUCTIONS) > len(frames)
    features = {feature for verb in wide().verbs for feature in verb.features}
    manners = {(slot, when) for slot, when in _MANNERS if when in features}
    for adverbial in wide().adverbials:
        where = (adverbial.slot, adverbial.when)
        times = ("habitual", "present", "past", "future")
        plain = adverbial.slot in ("time", "frequency") and adverbial.when in times
        assert plain or where in manners or where == ("manner", "company"), adverbial


def test_most_of_the_lexicon_is_met_in_a_few_thousand_sentences(
    wide_train: tuple[tuple[str, ...], ...],
) -> None:
    text = "\n".join(" ".join(words(pair[0].lower())) for pair in wide_train)
    found = set(re.findall(r"[\w'-]+", text))
    nouns = wide().nouns
    met = [n for n in nouns if {last(n.english), last(english_noun(n, True))} & found]
    assert len(met) > 0.75 * len(nouns)


def last(text: str) -> str:
    return words(text.lower())[-1]


def test_an_english_noun_is_there_once_and_links_reach_all_words_of_a_compound() -> None:
    names = [noun.english for noun in wide().nouns]
    assert len(names) == len(set(names))
    for noun in wide().nouns:
        if noun.links:
            for form in (noun.english, english_noun(noun, True)):
                assert {s for s, _ in noun.links} == set(range(len(words(form)))), noun.english
            for form in (noun.french, french_noun(noun, True)):
                assert {t for _, t in noun.links} == set(range(len(words(form)))), noun.english


def test_a_verb_and_its_object_have_one_french_verb() -> None:
    """`make a decision` is *prendre*, `make a promise` *faire*: no noun may be in both rows."""
    nouns, seen = wide().nouns, dict[tuple[str, str, str, str], tuple[str, ...]]()
    people = [noun for noun in nouns if "human" in noun.tags][:1]
    for verb in wide().verbs:
        if verb.frame not in ("object", "give"):
            continue
        subjects = [n for n in nouns if n.tags & verb.subjects and "human" not in n.tags]
        for subject in subjects + (people if "human" in verb.subjects else []):
            for thing in (n for n in nouns if n.tags & verb.objects):
                key = (verb.lemma, verb.frame, subject.english, thing.english)
                assert seen.setdefault(key, verb.french) == verb.french, key


def test_fields_are_read() -> None:
    row = next(parse(HEADER + "noun\tjewel\tbijou\tm\tthing\tplural_fr=bijoux; links=all", "x"))
    noun = themes.noun(row)
    assert (noun.french_plural, noun.feminine) == ("bijoux", False)
    assert noun.tags == {"thing", "=jewel"}


def test_the_small_lexicon_is_part_of_the_wide_one() -> None:
    assert {n.english for n in small().nouns} < {n.english for n in wide().nouns}
    assert set(small().verbs) <= {v for v in wide().verbs if "explicit" not in v.features}


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("noun\tapple", "expected 3 to 6 columns between tabs, found 2"),
        ("nuon\tapple\tpomme\tf\tfood", "kind 'nuon' is unknown; expected one of"),
        ("noun\tapple\tpomme\tx\tfood", "form of noun 'x' is unknown; expected one of 'f', 'm'"),
        ("noun\tapple\t\tf\tfood", "one side is empty"),
        ("noun\tapple\tpomme\tf\tfood\tplurals=x", "field of noun 'plurals' is unknown"),
        ("noun\tapple\tpomme\tf\tfood\tplural_fr", "field 'plural_fr' has no value"),
        ("noun\tcafe\u0301\tcafé\tm\tfood", "not in Unicode form NFC"),
        ("noun\tapple pie\ttarte aux pommes\tf\tfood\tlinks=0-0", "leave out a word"),
        ("noun\tapple pie\ttarte aux pommes\tf\tfood\tlinks=0:0", "expected pairs such as 0-1"),
        ("verb\teat\tmanger\tobject\thuman", "do not fit object; expected SUBJECTS > OBJECTS"),
        ("verb\tsleep\tdormir\tintransitive\thuman > bed", "do not fit intransitive"),
        ("adjective\tshallow\tpeu profond\tafter\tlake", "has several words"),
    ],
)
def test_a_malformed_line_is_named_by_file_and_number(line: str, complaint: str) -> None:
    with pytest.raises(UserError, match=rf"^food\.tsv:2: .*{re.escape(complaint)}"):
        read(line)


@pytest.mark.parametrize("header", ["# theme: cooking", "noun\tapple\tpomme\tf\tfood", ""])
def test_an_unknown_theme_is_named_with_the_known_ones(header: str) -> None:
    with pytest.raises(UserError, match=r"^food\.tsv:1: .*machine_learning"):
        list(parse(header + "\nnoun\tapple\tpomme\tf\tfood", "food.tsv"))


def test_a_noun_twice_is_named_with_both_lines() -> None:
    twice = parse(HEADER + "noun\tfig\tfigue\tf\tfood\n" * 2, "food.tsv")
    with pytest.raises(UserError, match=r"^food\.tsv:3: noun 'fig' is in food\.tsv:2 already"):
        check_unique(list(twice))


def test_an_unknown_kind_in_a_table_is_named_with_its_line() -> None:
    text = "# kind\ttext\ncode\tcd {0}\n\nemoji\t🚀\ncode\tls {0}"
    found = group_by_kind(text, "parts.tsv", ("emoji", "code"))
    assert found == {"emoji": ("🚀",), "code": ("cd {0}", "ls {0}")}
    with pytest.raises(UserError, match=r"^parts\.tsv:4: kind 'emoji' is unknown; .* 'code'$"):
        group_by_kind(text, "parts.tsv", ("code",))


def test_a_table_with_a_short_row_is_named() -> None:
    with pytest.raises(UserError, match=r"^cities\.tsv:3: expected 2 columns"):
        read_table("# english\tfrench\nRome\tRome\nParis", "cities.tsv")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("It is {hour}.\tIl est {hour}.", "slot {hour} is unknown"),
        ("It is {time}.\tIl est {time} {day}.", "expected the same"),
        ("It is here.\tC'est ici.\t0-0", "leave out a part"),
        ("I am {first}.\tJe m'appelle {first}.", "2 English and 3 French parts"),
        ("Hello, {first}.\tBonjour {first}.", "punctuation [',', '.'] and ['.']"),
        ("Hello", "expected English, French"),
    ],
)
def test_a_malformed_carrier_is_named_by_file_and_number(line: str, complaint: str) -> None:
    with pytest.raises(UserError, match=rf"^dates\.tsv:2: .*{re.escape(complaint)}"):
        parse_carriers(f"# english\tfrench\n{line}", "dates.tsv")


def test_every_slot_is_used_by_a_carrier() -> None:
    used = {slot.partition("#")[0] for template in carriers() for slot in template.slots}
    assert not set(SLOTS) - used


def test_small_lexicon_reads_no_theme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clearhead.data.grammar.vocabulary.rows", partial(pytest.fail, "read"))
    small.cache_clear()
    assert small().nouns


def test_a_noun_whose_english_plural_is_its_singular_is_plural_only_behind_a_number() -> None:
    """*The deer* would be *le cerf* and *les cerfs*; one English sentence has one French one."""
    fixed = {"mass", "single", "plural", "french_plural", "english_plural"}
    for noun in wide().nouns:
        assert fixed & noun.tags or english_noun(noun, True) != noun.english, noun.english
