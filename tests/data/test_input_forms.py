"""Input forms change how a sentence is typed, never what it says."""

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.data import Pair
from clearhead.data.input_forms import (
    FORMS,
    Form,
    InputForms,
    as_heading,
    as_typed_in_a_chat,
    enclosed,
    with_label,
    with_other_capital,
    with_several_marks,
    with_typo,
)

PAIRS = [
    Pair("I'm from Boston.", "Je viens de Boston."),
    Pair("Where is the station?", "Où est la gare\u202f?"),
    Pair('He said, "Don\'t wait..."', "Il a dit\u202f: «\u202fN'attends pas…\u202f»"),
    Pair(
        "Write to Ada@Example.org or see v2_Final.PDF.", "Écris à Ada@Example.org ou v2_Final.PDF."
    ),
    Pair("Run `print('A')` now.", "Exécute `print('A')` maintenant."),
    Pair("Go!", "Va\u202f!"),
]
seeds = st.integers(0, 10_000)


def letters(text: str) -> str:
    return "".join(re.findall(r"[^\W_]", text.casefold()))


@pytest.mark.parametrize(  # in the same order in every process of the tests
    "form", [form for form in FORMS if form not in {enclosed, with_label, with_typo}]
)
@pytest.mark.parametrize("pair", PAIRS)
@given(seed=seeds)
def test_no_letter_of_either_side_is_lost_and_none_but_a_list_label_is_added(
    form: Form, pair: Pair, seed: int
) -> None:
    for before, after in zip(pair, form(Random(seed), pair), strict=True):
        assert re.fullmatch(r"[1234ab]?" + re.escape(letters(before)), letters(after))


@pytest.mark.parametrize("pair", PAIRS)
@given(seed=seeds)
def test_marks_and_labels_are_the_same_on_both_sides(pair: Pair, seed: int) -> None:
    before, after = enclosed(Random(seed), pair).source.split(pair.source)
    assert enclosed(Random(seed), pair).target == before + pair.target + after
    label = with_label(Random(seed), pair).source.removesuffix(f": {pair.source}")
    assert with_label(Random(seed), pair).target == f"{label}\u202f: {pair.target}"


@pytest.mark.parametrize("pair", PAIRS)
@given(seed=seeds)
def test_a_text_ends_with_the_same_marks_as_its_translation(pair: Pair, seed: int) -> None:
    several = with_several_marks(Random(seed), pair)
    ends = [re.findall(r"[.!?…]*$", side)[0] for side in several]
    assert ends[0] == ends[1] and several[0].startswith(re.sub(r"[.!?…]*$", "", pair.source))


@pytest.mark.parametrize("pair", PAIRS)
@given(seed=seeds)
def test_a_typo_changes_one_small_word_of_the_source_only(pair: Pair, seed: int) -> None:
    typed = with_typo(Random(seed), pair)
    words = zip(pair.source.split(" "), typed.source.split(" "), strict=True)
    changed = [(word, new) for word, new in words if word != new]
    assert typed.target == pair.target and len(changed) <= 1
    assert all(word.strip(".,!?").islower() and word[0] == new[0] for word, new in changed)


@given(seed=seeds)
def test_a_fragment_has_the_same_case_on_both_sides_and_a_name_keeps_its_capital(seed: int) -> None:
    small, capital = Pair("the dog", "le chien"), Pair("The dog", "Le chien")
    assert with_other_capital(Random(seed), small) == capital
    assert with_other_capital(Random(seed), capital) == small
    for pair in (Pair("Paris", "Paris"), Pair("Tom's dog", "Le chien de Tom"), PAIRS[0], PAIRS[5]):
        assert with_other_capital(Random(seed), pair) == pair


@pytest.mark.parametrize("form", [as_typed_in_a_chat, as_heading])
@given(seed=seeds)
def test_addresses_file_names_and_code_keep_their_capitals(form: Form, seed: int) -> None:
    assert "Ada@Example.org" in form(Random(seed), PAIRS[3]).source
    assert "v2_Final.PDF" in form(Random(seed), PAIRS[3]).source
    assert "`print('A')`" in form(Random(seed), PAIRS[4]).source


@given(seed=seeds)
def test_a_heading_begins_its_words_with_capitals_in_english_only(seed: int) -> None:
    source, target = as_heading(Random(seed), PAIRS[0])
    assert source.endswith("I'm From Boston") and target.endswith("Je viens de Boston")


@given(st.lists(st.sampled_from(PAIRS), max_size=30), seeds)
def test_the_same_seed_makes_the_same_of_the_same_pairs(pairs: list[Pair], seed: int) -> None:
    first, second = InputForms(0.7, seed), InputForms(0.7, seed)
    assert [first(pair) for pair in pairs] == [second(pair) for pair in pairs]


def test_without_a_share_every_pair_stays() -> None:
    assert [InputForms(0.0)(pair) for pair in PAIRS] == PAIRS


def test_every_form_occurs_and_the_share_is_kept() -> None:
    forms, pair = InputForms(0.2), PAIRS[0]
    made = [forms(pair) for _ in range(20_000)]
    assert 0.15 < sum(new != pair for new in made) / len(made) < 0.2  # a form may change nothing
    for typed in (
        "im from",
        "I’m",
        "I'm From",
        "- I'm",
        "\"I'm",
        "Boston...",
        "(I'm",
        "A: I'm",
        "Boston. I'm",
        "  ",
    ):
        assert any(typed in new.source for new in made)


def test_a_joined_text_holds_whole_pairs_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(FORMS, with_typo)  # which changes letters
    forms = InputForms(1.0)
    for pair in [forms(PAIRS[i % 3]) for i in range(500)]:
        whole = [
            len(re.findall(re.escape(letters(p.source)), letters(pair.source))) for p in PAIRS[:3]
        ]
        other = [
            len(re.findall(re.escape(letters(p.target)), letters(pair.target))) for p in PAIRS[:3]
        ]
        assert whole == other and sum(whole) >= 1


@pytest.mark.parametrize("form", FORMS)
@given(seed=seeds)
def test_signs_that_are_no_letters_and_texts_of_one_sign_pass_through_every_form(
    form: Form, seed: int
) -> None:
    for pair in (Pair("Line 3 is ½ done ².", "Ⅳ est à ½ ①."), Pair("go.", "."), Pair(".", "va.")):
        assert all(form(Random(seed), pair))
