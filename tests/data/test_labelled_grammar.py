"""The grammar's own labels: always the same, disjoint splits, and true of what one can check."""

import pytest

from clearhead.data.grammar import words
from clearhead.data.labelled_grammar import labelled_roles, labelled_sentences
from clearhead.errors import UserError


def test_the_same_seed_makes_the_same_sentences_and_both_tasks_speak_of_them() -> None:
    texts, tags = labelled_sentences("grammar:train:60:3"), labelled_roles("grammar:train:60:3")
    assert texts == labelled_sentences("grammar:train:60:3")
    assert texts != labelled_sentences("grammar:train:60")
    for text, tagged in zip(texts, tags, strict=True):
        assert len(tagged.words) == len(tagged.tags)
        assert (
            "".join(words(text.text)).lower()
            == "".join("".join(words(word)) for word in tagged.words).replace(" ", "").lower()
        )


def test_no_sentence_is_in_two_splits() -> None:
    made = [{t.text for t in labelled_sentences(f"grammar:{s}:200")} for s in ("train", "test")]
    assert not made[0] & made[1]


def test_what_a_word_does_depends_on_the_sentence() -> None:
    found: dict[str, set[str | None]] = {}
    for sentence in labelled_roles("grammar:train:2000"):
        for word, tag in zip(sentence.words, sentence.tags, strict=True):
            found.setdefault(word, set()).add(tag)
    assert {"relative", "conjunction", "determiner"} <= found["that"]
    assert {"verb", "auxiliary"} <= found["is"]
    assert found["."] == {"end mark"} and found["Paul"] == {"noun"}


@pytest.mark.parametrize(
    "spec", ["grammar:", "grammar:long:5", "grammar:train:x", "grammar:train:0"]
)
def test_a_spec_that_is_none_is_refused(spec: str) -> None:
    with pytest.raises(UserError, match=r"expected grammar:SPLIT:COUNT .* train, dev, test"):
        labelled_sentences(spec)
