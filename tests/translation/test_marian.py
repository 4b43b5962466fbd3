"""A Marian from the hub translates through the same verbs, and says what `transformers` says."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import transformers

from clearhead import Translator, pipeline
from clearhead.cli.main import run
from clearhead.decoding import DecodingOptions
from clearhead.errors import UserError
from clearhead.explain.attention import attention_maps, sentence_pair
from tests.translation.opus import PAIRS, save_marian

TEXTS = [pair.source for pair in PAIRS[:40]]
LIMIT = 30


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_marian(tmp_path_factory.mktemp("opus"))


def theirs(directory: Path, beams: int) -> list[str]:
    tokenizer: Any = transformers.MarianTokenizer.from_pretrained(directory)
    model: Any = transformers.MarianMTModel.from_pretrained(directory).eval()
    batch = tokenizer(TEXTS, return_tensors="pt", padding=True)
    found = model.generate(
        **batch, num_beams=beams, bad_words_ids=[[tokenizer.pad_token_id]], do_sample=False,
        max_length=None, max_new_tokens=LIMIT, forced_eos_token_id=None,
        **({"early_stopping": "never"} if beams > 1 else {}),
    )  # fmt: skip
    return list(tokenizer.batch_decode(found, skip_special_tokens=True))


@pytest.mark.parametrize("beams", [1, 4])
def test_texts_are_translated_as_transformers_translates_them(directory: Path, beams: int) -> None:
    translator = Translator.from_pretrained(directory, "cpu", split_sentences=False)
    found = translator.translate(TEXTS, beam_size=beams, max_length=LIMIT)
    assert found == theirs(directory, beams)
    assert len(set(found)) > 20


def test_the_pipeline_and_the_command_line_know_it(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = Translator.from_pretrained(directory, "cpu").translate(TEXTS[:1])
    answer = pipeline("translation", model=directory, device="cpu")(TEXTS[0])
    assert answer == [{"translation_text": expected[0]}]
    assert run(["translate", "--model", str(directory), "--device", "cpu", TEXTS[0]]) == 0
    assert capsys.readouterr().out.splitlines() == expected


def test_a_search_setting_that_is_not_applied_is_one_line_on_standard_error(
    directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in directory.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "generation_config.json").write_text('{"num_beams": 6}', encoding="utf-8")
    command = ["translate", "--model", str(tmp_path), "--device", "cpu", TEXTS[0]]
    for quiet, lines in (([], 1), (["--quiet"], 0)):
        assert run([*command, *quiet]) == 0
        said = [line for line in capsys.readouterr().err.splitlines() if "num_beams=6" in line]
        assert len(said) == lines and all("set beam_size=6" in line for line in said)


def test_its_words_are_linked_and_its_attention_is_drawn(directory: Path) -> None:
    translator = Translator.from_pretrained(directory, "cpu", split_sentences=False)
    options = DecodingOptions(max_length=LIMIT)
    (best,) = translator.translate_detailed(TEXTS[:1], options, alignment_layer=-1)[0]
    assert best.alignment
    words, said = len(TEXTS[0].split()), len(best.text.split())
    assert {target for _, target in best.alignment} == set(range(said))
    assert all(0 <= source < words for source, _ in best.alignment)
    pair = sentence_pair(translator, TEXTS[0], PAIRS[0].target)
    encoder, decoder, cross = attention_maps(translator, pair)
    assert pair.translation == PAIRS[0].target.replace("\u202f", " ")
    for found in (encoder, decoder, cross):
        for layer in found.weights:
            np.testing.assert_allclose(layer.sum(-1), 1, atol=1e-5)


def test_two_vocabularies_are_refused(directory: Path, tmp_path: Path) -> None:
    for file in directory.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    vocab = json.loads((directory / "vocab.json").read_text(encoding="utf-8"))
    (tmp_path / "target_vocab.json").write_text(json.dumps(vocab), encoding="utf-8")
    (tmp_path / "tokenizer_config.json").write_text('{"separate_vocabs": true}', encoding="utf-8")
    with pytest.raises(UserError, match="a vocabulary for each language"):
        Translator.from_pretrained(tmp_path, "cpu")


def test_a_name_that_cannot_be_fetched_says_what_to_place_where(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UserError, match=r"no directory nobody/opus-mt-xx-yy.*place config\.json"):
        Translator.from_pretrained("nobody/opus-mt-xx-yy", "cpu")
