import pytest
from hypothesis import given
from hypothesis import strategies as st

from clearhead.translation.sentences import sentence_spans

TEXTS = st.text() | st.text(alphabet="Aa1.!?…\"'”)( \n\u2028\u00a0\t")


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@given(TEXTS)
def test_nothing_but_whitespace_lies_outside_the_sentences(text: str) -> None:
    end = 0
    for start, stop in sentence_spans(text):
        assert text[end:start].strip() == ""
        assert text[start:stop] == text[start:stop].strip() != ""
        end = stop
    assert text[end:].strip() == ""


@given(TEXTS)
def test_a_sentence_is_not_split_again(text: str) -> None:
    for sentence in sentences(text):
        assert sentences(sentence) == [sentence]


@pytest.mark.parametrize("blank", ["", " ", "\t\n\r\n ", "\u00a0\u2028"])
def test_what_is_blank_has_no_sentence(blank: str) -> None:
    assert sentences(blank) == []


@pytest.mark.parametrize(
    "whole",
    [
        "Mr. Smith met Dr. Jones and Mrs. Brown.",
        "J. R. R. Tolkien wrote it.",
        "It costs 3.14 dollars.",
        "No. 5 is alive.",
        "He came on Jan. 5 to the U.S. Army.",
        "Bring fruit, e.g. apples, pears etc. and bread.",
        "We met at 5 p.m. yesterday.",
        "Well... perhaps… or not.",
        '"Stop!" he said.',
        "See clearhead.models.Transformer at example.com now.",
        "Hello :)",
        "?",
    ],
)
def test_these_are_one_sentence(whole: str) -> None:
    assert sentences(whole) == [whole]


@pytest.mark.parametrize(
    "parts",
    [
        ["I came.", "I saw.", "I won."],
        ["So am I.", "You too."],
        ["No.", "I will not."],
        ['He said "Stop!"', "She left."],
        ["“Go.”", "“Where?”"],
        ["Really?!", "Yes."],
        ["It was three p.m.", "He slept."],
        ["Wait…", "What?"],
        ["It is 5.", "(Or 6.)", "Who knows?"],
        ["a line", "another line"],
    ],
)
@pytest.mark.parametrize("gap", ["\n", " \r\n ", "\u2028"])
def test_these_are_several(parts: list[str], gap: str) -> None:
    assert sentences(gap.join(parts)) == parts
    if parts[0][-1] not in "e":
        assert sentences("  ".join(parts)) == parts


def test_time_grows_with_the_length_and_no_faster() -> None:
    assert sentences("a" + " " * 1_000_000 + "b") == ["a" + " " * 1_000_000 + "b"]
    assert len(sentences("Yes. " * 20_000)) == 20_000
