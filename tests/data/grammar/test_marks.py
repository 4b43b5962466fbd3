"""A marked phrase is a phrase of both sides, and nothing but the marks is added."""

import re
from itertools import islice

import pytest

from clearhead.data import open_pairs
from clearhead.data.grammar import GrammarPair, generate_wide, words
from clearhead.data.grammar.marks import RATE, marked

Change = tuple[tuple[str, str], GrammarPair]


@pytest.fixture(scope="module")
def changes() -> list[Change]:
    """Pairs after marking and before."""
    pairs = list(islice(generate_wide("train", 3), 2_000))
    return list(zip(marked(pairs, 5), pairs, strict=True))


def letters(text: str) -> str:
    plain = re.sub(r"</?(?:b|em|i|strong|a)(?: href=\"#\")?>|\]\(https://example\.com\)", "", text)
    return "".join(re.findall(r"[^\W_]", plain.casefold()))


def test_about_as_many_pairs_are_marked_as_the_rate_says(changes: list[Change]) -> None:
    changed = [new for new, old in changes if new != old[:2]]
    assert 0.7 * RATE < len(changed) / len(changes) < 1.3 * RATE
    for marks in ("**", "<em>", '"', "“", "(", "](https"):
        assert any(marks in source for source, _ in changed)


def test_no_letter_is_lost_and_none_added(changes: list[Change]) -> None:
    for new, old in changes:
        for after, before in zip(new, old[:2], strict=True):
            if "<" not in before and "](" not in before:
                assert letters(after) == letters(before)


def test_the_words_inside_the_marks_are_aligned_with_each_other_only() -> None:
    pair = GrammarPair(
        "I saw the black cats there.",
        "J'ai vu les chats noirs là-bas.",
        ((0, 0), (1, 1), (1, 2), (2, 3), (3, 5), (4, 4), (5, 6)),
        (),
        frozenset(),
        "",
    )
    assert len(words(pair.source)) == 7 and len(words(pair.target)) == 8
    found = set(marked([pair] * 3_000, 1))
    assert ("I saw the **black** cats there.", "J'ai vu les chats **noirs** là-bas.") in found
    assert ("I saw the (black cats) there.", "J'ai vu les (chats noirs) là-bas.") in found
    assert not any("**the black**" in source for source, _ in found)  # les … noirs: not a phrase


def test_only_the_training_pairs_of_the_wide_grammar_are_marked() -> None:
    test = [pair[:2] for pair in islice(generate_wide("test", 0), 200)]
    assert [tuple(pair) for pair in open_pairs("grammar:wide:test:200")] == test
    train = [pair[:2] for pair in islice(generate_wide("train", 0), 200)]
    assert [tuple(pair) for pair in open_pairs("grammar:wide:train:200")] != train
