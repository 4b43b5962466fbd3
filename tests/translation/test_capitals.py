from hypothesis import given
from hypothesis import strategies as st

from clearhead.text import Tokenizer
from clearhead.translation import Translator
from clearhead.translation.capitals import as_usual, in_capitals
from clearhead.translation.sources import Reader
from tests.translation.tiny import LINES, parts, translator

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


def test_who_learned_from_capitals_reads_capitals() -> None:
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
