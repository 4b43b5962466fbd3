"""Learned tokenizers: lossless or BERT's, always the same, and `transformers` reads them."""

from collections.abc import Callable
from pathlib import Path

import pytest
import tokenizers
from tokenizers import models

from clearhead.data.corpus import Texts
from clearhead.errors import UserError
from clearhead.text.fast_tokenizer import FastTokenizer
from clearhead.text.learning import learn_byte_level, learn_wordpiece, save_older_layout

TEXTS = Texts("measured:300")
LEARNERS = [
    pytest.param(learn_byte_level, 400, FastTokenizer.byte_level, id="byte level"),
    pytest.param(learn_wordpiece, 300, FastTokenizer.wordpiece, id="wordpiece"),
]
SENTENCE = "The old baker's sister doesn't see the key."
Learn = Callable[[Texts, int], FastTokenizer]
Load = Callable[[Path], FastTokenizer]


@pytest.mark.parametrize("text", ["Ça va ? « Oui »\n\n  naïve\t🙂", " ", "a\u2028b\r\n", SENTENCE])
def test_bytes_lose_nothing(text: str) -> None:
    tokenizer = learn_byte_level(TEXTS, 400)
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_wordpiece_keeps_words_and_stands_between_signs() -> None:
    tokenizer = learn_wordpiece(TEXTS, 300)
    ids = tokenizer.encode(SENTENCE)
    assert (ids[0], ids[-1]) == (tokenizer.special_ids["cls"], tokenizer.special_ids["sep"])
    assert tokenizer.decode(ids).replace(" ' ", "'").replace(" .", ".") == SENTENCE
    assert len(set(tokenizer.special_ids.values())) == 5 and tokenizer.special_ids["pad"] == 0


@pytest.mark.parametrize(("learn", "size", "load"), LEARNERS)
def test_the_same_text_gives_the_same_vocabulary(
    learn: Learn, size: int, load: Load, tmp_path: Path
) -> None:
    one, other = learn(TEXTS, size), learn(Texts("measured:300"), size)
    assert one.vocab_size == size
    assert [one.piece(i) for i in range(size)] == [other.piece(i) for i in range(size)]
    one.save(tmp_path)
    again = load(tmp_path)
    assert again.encode(SENTENCE) == one.encode(SENTENCE) and again.special_ids == one.special_ids


@pytest.mark.parametrize(("learn", "size", "load"), LEARNERS)
def test_without_tokenizer_json_the_older_files_say_the_same(
    learn: Learn, size: int, load: Load, tmp_path: Path
) -> None:
    tokenizer = learn(TEXTS, size)
    tokenizer.save(tmp_path)
    save_older_layout(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    settings = tmp_path / "tokenizer_config.json"
    settings.write_text(settings.read_text("utf-8").replace("{", '{"do_lower_case": false,', 1))
    assert load(tmp_path).encode(SENTENCE) == tokenizer.encode(SENTENCE)


@pytest.mark.parametrize(("learn", "size", "load"), LEARNERS)
def test_transformers_reads_the_same_ids(
    learn: Learn, size: int, load: Load, tmp_path: Path
) -> None:
    transformers = pytest.importorskip("transformers")
    tokenizer = learn(TEXTS, size)
    tokenizer.save(tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert theirs(SENTENCE)["input_ids"] == tokenizer.encode(SENTENCE)
    for role, number in tokenizer.special_ids.items():
        assert getattr(theirs, f"{role}_token_id") == number


@pytest.mark.parametrize(("learn", "few"), [(learn_byte_level, 256), (learn_wordpiece, 60)])
def test_a_vocabulary_that_does_not_fit_the_text_is_one_line(learn: Learn, few: int) -> None:
    with pytest.raises(UserError, match=rf"vocabulary\.size={few} is too small"):
        learn(TEXTS, few)


@pytest.mark.parametrize("learn", [learn_byte_level, learn_wordpiece])
def test_a_small_text_gives_a_smaller_vocabulary_and_a_line_in_the_log(
    learn: Learn, caplog: pytest.LogCaptureFixture
) -> None:
    size = learn(TEXTS, 9000).vocab_size
    (record,) = caplog.records
    assert f"the vocabulary has {size} tokens instead of vocabulary.size=9000" in record.message
    caplog.clear()
    assert learn(TEXTS, size).vocab_size == size and not caplog.records


@pytest.mark.parametrize("model", [models.WordLevel({"a": 0}, "a"), models.Unigram([("a", 0.0)])])
def test_a_tokenizer_of_another_kind_has_no_older_files(
    model: models.Model, tmp_path: Path
) -> None:
    FastTokenizer(tokenizers.Tokenizer(model), {}).save(tmp_path)
    save_older_layout(tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"tokenizer.json", "tokenizer_config.json"}
