from pathlib import Path

import pytest

from clearhead import pipeline
from clearhead.errors import UserError
from tests.translation.tiny import save, translator

TEXTS = ["Hello world", "I am fine."]


@pytest.fixture(scope="module")
def en_to_fr() -> object:
    return pipeline("translation_en_to_fr", model=translator())


def test_one_text_gives_one_answer_in_a_list(en_to_fr) -> None:  # type: ignore[no-untyped-def]
    assert en_to_fr("Hello world") == [{"translation_text": translator().translate(TEXTS)[0]}]


def test_several_texts_give_one_answer_each(en_to_fr) -> None:  # type: ignore[no-untyped-def]
    expected = [{"translation_text": text} for text in translator().translate(TEXTS)]
    assert en_to_fr(TEXTS) == expected


def test_several_sequences_give_lists_of_answers(en_to_fr) -> None:  # type: ignore[no-untyped-def]
    alone = en_to_fr(TEXTS[0], num_return_sequences=3)
    assert len({answer["translation_text"] for answer in alone}) == 3
    assert en_to_fr(TEXTS, num_return_sequences=3)[0] == alone


def test_the_names_of_transformers_reach_the_search(en_to_fr) -> None:  # type: ignore[no-untyped-def]
    (answer,) = en_to_fr(
        "Hello",
        num_beams=1,
        max_new_tokens=5,
        length_penalty=0.5,
        no_repeat_ngram_size=1,
        early_stopping=True,
    )
    expected = translator().translate(["Hello"], beam_size=1, max_length=5, no_repeat_ngram=1)
    assert [answer["translation_text"]] == expected


def test_a_directory_is_a_model(tmp_path: Path) -> None:
    directory = save(tmp_path)
    assert pipeline(model=directory, device="cpu")("") == [{"translation_text": ""}]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("num_beams", "4", "num_beams='4' is not a whole number of at least 1"),
        ("num_beams", 0, "num_beams=0 is not"),
        ("num_return_sequences", None, "num_return_sequences=None is not"),
        ("no_repeat_ngram_size", -1, "no_repeat_ngram_size=-1 is not"),
        ("max_length", "9", "max_length='9' is not a whole number of at least 3"),
        ("max_length", 1, "max_length=1 is not a whole number of at least 3: the BOS token, a t"),
        ("max_length", 2, "max_length=2 is not"),
        ("max_new_tokens", 0, "max_new_tokens=0 is not a whole number of at least 2: a token and"),
        ("max_new_tokens", 1, "max_new_tokens=1 is not"),
        ("early_stopping", "never", "early_stopping='never'; give True or False"),
    ],
)
def test_a_wrong_argument_is_named_as_it_was_given(  # type: ignore[no-untyped-def]
    en_to_fr, name: str, value: object, message: str
) -> None:
    with pytest.raises(UserError, match=message) as caught:
        en_to_fr("Hello", **{name: value})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("given", [{"max_length": 3}, {"max_new_tokens": 2}])
def test_the_shortest_limits_are_accepted(en_to_fr, given) -> None:  # type: ignore[no-untyped-def]
    assert len(en_to_fr("Hello world", **given)) == 1


def test_a_dictionary_is_refused(en_to_fr) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UserError, match="of type dict; expected a list of texts"):
        en_to_fr({"text": "Hello"})
