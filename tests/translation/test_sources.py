"""A text is split where sentences end, cut where it must be, and capitals are read as usual."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clearhead.errors import UserError
from clearhead.text import Tokenizer
from clearhead.translation import Translator
from clearhead.translation.sources import Reader, as_usual, cut, in_capitals, sentence_spans
from tests.translation.tiny import LINES, parts, translator

TEXTS = st.text() | st.text(alphabet="Aa1.!?…\"'”)( \n\u2028\u00a0\t-#|<p>")


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


@given(TEXTS)
def test_sentences_are_stripped_and_in_order_and_none_lies_outside_them(text: str) -> None:
    end = 0
    for start, stop in sentence_spans(text):
        assert sentences(text[end:start]) == []
        assert text[start:stop] == text[start:stop].strip() != ""
        end = stop
    assert sentences(text[end:]) == []


@given(TEXTS)
@example("1) |a|b")
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
        "Smith et al. (2017) and Jones et al. [5] saw it.",
        "See Eqs. 3 and 4, Secs. 1 and 2, Ref. 5, Tab. 6 and Chap. 7.",
        "He came on Jan. 5 to the U.S. Army.",
        "Bring fruit, e.g. apples, pears etc. and bread.",
        "We met at 5 p.m. yesterday.",
        "Well... perhaps… or not.",
        '"Stop!" he said.',
        "See clearhead.models.Transformer at example.com now.",
        "Hello :)",
        "5 - 3 = 2 - well, nearly.",
        "He is the no. 1) of them.",
        "a < b > c | d",
        "This is <em>very</em> important.",
    ],
)
def test_these_are_one_sentence(whole: str) -> None:
    assert sentences(whole) == [whole]


@pytest.mark.parametrize(
    "parts",
    [
        ["I came.", "I saw.", "I won."],
        ["So am I.", "You too."],
        ["It is by Smith et al.", "The cat saw it."],
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  - Wash the vegetables", ["Wash the vegetables"]),
        ("## 1. Introduction", ["Introduction"]),
        ("5. Open the door. 6. Close it.", ["Open the door.", "Close it."]),
        ("- [x] Buy milk", ["Buy milk"]),
        ("> a) (Yes) and no", ["(Yes) and no"]),
        ("| Name | Age of Tom |", ["Name", "Age of Tom"]),
        ("Name\tCity", ["Name", "City"]),
        ("<li>First item</li><li class='x'>Second <b>item</b></li>",
         ["First item", "Second <b>item</b>"]),
        ("One<br/>two <!-- three -->", ["One", "two"]),
        ('  alt="The cat. It sleeps.">', []), ('  class="big red"', []),
        ('class="a" id="b">The house', ["The house"]),
        ("|---|:--:|", []), ("---", []), ("```python", []), ("🎉 🎉", []), ("?", []),
        ("- 1990 was hot.", ["1990 was hot."]),
        ("00:00:01,600 --> 00:00:04,200", []), ("WEBVTT", []),
        ("00:01.000 --> 00:04.000 line:0 size:60%", []),
        ("#hashtag -5 *bold*", ["#hashtag -5 *bold*"]),
        ("a. First item", ["First item"]), ("1.2. Methods", ["Methods"]),
        ("2.3.1 Results", ["Results"]), ("## 1.1 Aims", ["Aims"]), ("-- So", ["So"]),
        ("// It returns 5.", ["It returns 5."]), ("2.5 kg", ["2.5 kg"]),
        ('msgid "The cat. It eats."', ["The cat.", "It eats."]), ('"The cat.\\n"', ["The cat.\\n"]),
        ('  "hello": "The cat", "b": "The dog"', ["The cat", "The dog"]),
        ('title: "The cat"', ["The cat"]), ('title = "The cat"', ["The cat"]),
        ('{"a": {"b": "The cat", "c": ["The dog", 2, true]}},', ["The cat", "The dog"]),
        ('  "a": [],', []), ('"Where is it?"', ['"Where is it?"']),
        ('"One", "two"', ['"One", "two"']), ("#: src/main.c:42", []),
        ("id,text,label", ["id", "text", "label"]), ("1,234,567", ["1,234,567"]),
        ("2,The cat sleeps.,negative", ["The cat sleeps.", "negative"]),
        ("I came,I saw, I won,too", ["I came,I saw, I won,too"]),
        ('1,"The cat, too","The dog"', ["The cat, too", "The dog"]),
        ('Tom;"He said ""no"""', ["Tom", "He said", "no"]),
        ('Tom: "Where?"', ['Tom: "Where?"']), ('"No, you", he said', ['"No, you", he said']),
        (">>> So", ["So"]), ("ii. So", ["So"]), ("iv) So", ["So"]),
        ("  -i FILE   the file", ["-i FILE", "the file"]),
        ("Tom    | 5     | Paris", ["Tom", "5", "Paris"]), ("│ Tom │ Age │", ["Tom", "Age"]),
        ("Chapter 1 ........ 12", ["Chapter 1", "12"]), ("Aims.....5", ["Aims", "5"]),
        ("Well.... no", ["Well.... no"]),
    ],
)  # fmt: skip
def test_layout_is_no_part_of_a_sentence(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_the_page_says_which_lines_of_yaml_keep_their_keys() -> None:
    page = (Path(__file__).parents[2] / "docs/your_own_translator.md").read_text("utf-8")
    kept, lost = 'pet: "The cat"', "pet: The cat"
    assert (sentences(kept), sentences(lost)) == (["The cat"], [lost])
    assert f"write `{kept}`, not `{lost}`" in page


def test_time_grows_with_the_length_and_no_faster() -> None:
    assert sentences("a" + " " * 1_000_000 + "b") == ["a" + " " * 1_000_000 + "b"]
    assert len(sentences("Yes. " * 20_000)) == 20_000


@given(st.text(min_size=1).map(str.strip).filter(bool), st.integers(1, 12))
def test_parts_fit_and_only_whitespace_lies_between_them(text: str, room: int) -> None:
    end = 0
    for start, stop in cut(text, (0, len(text)), lambda part: len(part) <= room):
        assert 0 < stop - start <= room
        assert text[end:start].strip() == ""
        end = stop
    assert end == len(text)


def cut_parts(text: str, room: int) -> list[str]:
    spans = cut(text, (0, len(text)), lambda part: len(part) <= room)
    return [text[start:end] for start, end in spans]


def test_a_clause_ends_before_a_word_and_a_word_before_a_letter() -> None:
    assert cut_parts("one two, three four five", 15) == ["one two,", "three four five"]
    assert cut_parts("one two three four", 12) == ["one two", "three four"]
    assert cut_parts("abcdefgh", 4) == ["abcd", "efgh"]


def test_what_fits_is_left_alone() -> None:
    assert cut_parts("one, two", 8) == ["one, two"]


def test_a_character_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(UserError, match="single character 'a'"):
        cut("abc", (0, 3), lambda part: False)


def test_layout_and_indentation_are_copied() -> None:
    t = translator()
    hello, fine = t.translate(["Hello world.", "I am fine."])
    copied = {
        "  - Hello world.": f"  - {hello}",
        "\n\n  1) Hello world. I am fine. \n": f"  1) {hello} {fine}",
        "| Hello world. |  I am fine. |": f"| {hello} |  {fine} |",
        "<p>Hello world.</p>\n<hr>\n* I am fine.": f"<p>{hello}</p>\n<hr>\n* {fine}",
        "  --- ": "  ---",
        "Hello world.\t\tI am fine.\t\t \n": f"{hello}\t\t{fine}\t\t",
        '[1]: https://example.com/x "Hello world."': '[1]: https://example.com/x "Hello world."',
    }
    assert t.translate(list(copied)) == list(copied.values())


LETTERS = st.text("abé ßÉ'.-1\u00a0", min_size=1)


def test_a_sentence_in_capitals_is_the_ordinary_one_in_capitals() -> None:
    t = translator()
    loud = ["HELLO WORLD, HOW ARE YOU?", "  I AM FINE. HOW IS THE CAT? "]
    calm = ["Hello world, how are you?", "  I am fine. How is the cat? "]
    assert t.translate(loud) == [text.upper() for text in t.translate(calm)]
    assert t.translate(loud) != t.translate(calm)


def test_only_the_sentence_in_capitals_is_set_in_capitals() -> None:
    t = translator()
    first, second = t.translate(["The cat is on the table.", "I am fine."])
    assert t.translate(["THE CAT IS ON THE TABLE. I am fine."]) == [f"{first.upper()} {second}"]


def test_a_word_alone_and_a_sentence_with_a_small_letter_stay_as_they_are() -> None:
    for text in ["NATO", "USA.", "12", "I am NATO", "NATO is", "你 好", "1 + 2", ""]:
        assert not in_capitals(text)
    assert all(map(in_capitals, ["CHAPTER 1", "NO!  GO!", "ÉTÉ 2", "I AM"]))


def test_a_name_keeps_its_capital() -> None:
    tokenizer = Tokenizer.train(["I saw Mary and the marble of Mary, USA."] * 9, 330)
    usual = as_usual("MARY AND THE MARBLE SAW I,  USA.", tokenizer.encode_batch)
    assert usual == "Mary and the marble saw I,  USA."


def test_a_tokenizer_trained_on_capitals_keeps_capitals() -> None:
    tokenizer = Tokenizer.train([line.upper() for line in LINES * 4], 330)
    sentence = "HELLO WORLD, HOW ARE YOU?"
    (source,) = Reader(tokenizer, src_seq_len=99).read([sentence])
    assert tokenizer.decode(source.ids) == sentence
    assert not source.capitals


@given(LETTERS)
def test_nothing_but_the_case_of_letters_changes(text: str) -> None:
    usual = as_usual(text.upper(), parts()[1].encode_batch)
    assert usual.casefold() == text.upper().casefold()


def test_the_shipped_translator_understands_a_heading() -> None:
    shipped = Translator.from_pretrained()
    loud, calm = shipped.translate(["WHERE IS MARY?", "Where is Mary?"])
    assert loud == calm.upper()
