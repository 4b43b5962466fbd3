"""What counts as a French space, and what is none."""

from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.errors import UserError
from clearhead.text import unify_french_spaces
from clearhead.text.inputs import check_texts, texts_of

SPACES = " \u00a0\u202f"
# Mostly the characters that the rule looks at, so that hypothesis meets its corners.
FRENCH = st.text(st.one_of(st.sampled_from("aé1 \u00a0\u202f\n?!:;«»()-.,'\"=/"), st.characters()))


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(
    "typed",
    [
        "Quoi_?",
        "Non_!",
        "Voici_: rien",
        "Oui_; non",
        "«_Oui_»",
        "Il dit_: «_Non_!_»_; elle rit",
        "(Vraiment_?!)",
        "«_Oui_»_?",
        "Elle a dit «_oui_».",
        '"Qui_?"',
    ],
)
def test_any_space_at_a_french_sign_becomes_the_narrow_one(typed: str, space: str) -> None:
    expected = typed.replace("_", "\u202f")
    assert unify_french_spaces(typed.replace("_", space)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Il est 12:30.",
        "à 12 :30",
        "Voir http://exemple.fr/a?b=c !important",
        "C'est drôle :-)",
        "Salut ;)",
        "Oui :)",
        "Bien :D",
        "si a != b",
        "Quoi?",
        "«Oui»",
        " ? seul",
        "deux  !",
        "un\u2009?",
        "",
    ],
)
def test_nothing_else_is_touched(text: str) -> None:
    assert unify_french_spaces(text) == text


@given(FRENCH)
def test_twice_is_once(text: str) -> None:
    once = unify_french_spaces(text)
    assert unify_french_spaces(once) == once


@given(FRENCH)
def test_only_spaces_change_and_only_into_the_narrow_one(text: str) -> None:
    unified = unify_french_spaces(text)
    assert len(unified) == len(text)
    for old, new in zip(text, unified, strict=True):
        assert old == new or (old in SPACES and new == "\u202f")


@given(FRENCH, st.sampled_from(SPACES))
def test_which_space_was_typed_makes_no_difference(text: str, space: str) -> None:
    other = "".join(space if c in SPACES else c for c in text)
    same = "".join(" " if c in SPACES else c for c in text)
    changed = [a != b for a, b in zip(other, unify_french_spaces(other), strict=True)]
    narrow = [c == "\u202f" for c in unify_french_spaces(same)]
    if space != "\u202f":
        assert changed == narrow


@pytest.mark.parametrize("given", [{"text": "Hello."}, {}, MappingProxyType({"text": "Hello."})])
def test_a_dictionary_is_no_list_of_its_keys(given: Any) -> None:
    for read in (texts_of, check_texts):
        with pytest.raises(UserError, match=r"the input is of type .*; expected a list of texts"):
            read(given)
