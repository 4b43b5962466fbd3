import json
import logging
import pickle
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhead.blocks import READABLE, InputEmbeddings, PlainEmbeddings
from clearhead.decoding import DecodingOptions, NativeEngine, ReadableEngine, decode
from clearhead.decoding.readable import ensemble
from clearhead.errors import UserError
from clearhead.models import Transformer
from clearhead.native.choice import EngineName
from clearhead.text import Tokenizer
from clearhead.translation import Translator
from clearhead.translation.loading import find_model
from tests.decoding.tiny import make_model, true_score
from tests.translation.tiny import SRC_SEQ_LEN, parts, save, translator

FAST = DecodingOptions(beam_size=1, max_length=6, scores=False)
ANY_TEXT = st.text(st.characters(codec=None), max_size=80)


@settings(max_examples=40)
@given(st.lists(ANY_TEXT, max_size=5))
def test_one_text_out_for_each_text_in_whatever_it_holds(texts: list[str]) -> None:
    found = translator().translate_detailed(texts, FAST)
    assert [len(best) for best in found] == [1] * len(texts)
    for text, (best,) in zip(texts, found, strict=True):
        assert not re.search(r"[^\S\t]\Z", best.text) and not best.text.startswith("\n")
        if not text.strip():
            assert best.text == ""
        if "\n" not in text:
            assert "\n" not in best.text
        best.text.encode("utf-8")


def test_a_blank_text_never_reaches_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    decode = NativeEngine.decode
    monkeypatch.setattr(NativeEngine, "decode", lambda e, s, o: read.extend(s) or decode(e, s, o))
    assert translator().translate(["", " \t", "\u2028\u00a0", "\r\n"]) == [""] * 4
    assert read == []
    translator().translate(["Hello"])
    assert len(read) == 1


def test_a_text_is_translated_sentence_by_sentence_and_keeps_its_whitespace() -> None:
    t = translator()
    first, second = t.translate(["I am fine.", "How are you?"], beam_size=2)
    joined = t.translate(["\n  I am fine.\t\nHow are you?\n"], beam_size=2)
    assert joined == [f"  {first}\t\n{second}"]


def test_the_order_of_texts_and_their_company_change_nothing() -> None:
    texts = ["Hello world", "", "I am fine. How are you?", "cat", "The cat is on the table."]
    t = translator()
    assert t.translate(texts) == [t.translate([text])[0] for text in texts]
    assert t.translate(texts[::-1]) == t.translate(texts)[::-1]


def test_without_splitting_the_model_reads_the_whole_text() -> None:
    text = "I am fine. How are you?"
    ((whole,),) = translator(split_sentences=False).translate_detailed([text], DecodingOptions())
    ((pieces,),) = translator().translate_detailed([text], DecodingOptions())
    assert (len(whole.ids), len(pieces.ids)) == (1, 2)


@pytest.mark.parametrize("split", [True, False])
def test_a_long_sentence_is_cut_with_a_warning_and_nothing_is_lost(
    split: bool, caplog: pytest.LogCaptureFixture
) -> None:
    text = "the cat, the table, the world " * 9 + "x" * 200
    t = translator(split_sentences=split)
    with caplog.at_level(logging.WARNING):
        ((best,),) = t.translate_detailed([text], FAST)
    assert f"has {SRC_SEQ_LEN} positions" in caplog.text
    sources = t.reader.read([text])
    assert all(len(source.ids) <= SRC_SEQ_LEN for source in sources)
    assert "".join(text[s.span[0] : s.span[1]] for s in sources).replace(" ", "") == text.replace(
        " ", ""
    )
    assert len(best.ids) == len(sources) > 9


def test_a_long_sentence_is_refused_with_both_numbers_if_asked() -> None:
    with pytest.raises(UserError, match=rf"42 tokens.*src_seq_len={SRC_SEQ_LEN}"):
        translator(refuse_long=True).translate(["x" * 40])


def test_a_translation_that_hits_its_limit_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    ((best,),) = translator().translate_detailed(["Hello"], DecodingOptions(max_length=2))
    assert not best.finished
    assert "1 of 1 sentence reached the length limit" in caplog.text
    assert "'Hello'" in caplog.text


def test_the_warning_of_a_limit_names_the_arguments_and_the_command_that_has_the_options(
    caplog: pytest.LogCaptureFixture,
) -> None:
    translator().translate(["Hello", "Hello"], max_length=2)
    assert "2 of 2 sentences reached the length limit" in caplog.text
    assert "raise max_length, or set no_repeat_ngram=4" in caplog.text
    assert "(`clearhead translate` has --max-length and --no-repeat-ngram)" in caplog.text


def test_n_best_lists_are_ranked_and_their_scores_are_true() -> None:
    model, tokenizer = parts()
    options = DecodingOptions(beam_size=4, n_best=3, max_length=8)
    texts = ["Hello", "I am fine. How are you?", ""]
    for text, best in zip(texts, translator().translate_detailed(texts, options), strict=True):
        assert len(best) == 3
        ranks = [t.normalized for t in best]
        assert ranks == sorted(ranks, reverse=True)
        if text == "Hello":
            source = [*tokenizer.encode(text), tokenizer.eos_id]
            for t in best:
                written = [*t.ids[0], *[tokenizer.eos_id] * t.finished]
                assert t.score == pytest.approx(true_score(model, source, written), abs=1e-4)


def test_the_best_of_a_text_are_the_best_combinations_of_its_sentences() -> None:
    options = DecodingOptions(beam_size=4, n_best=4, max_length=8)
    t = translator()
    one, two = t.translate_detailed(["I am fine.", "How are you?"], options)
    (both,) = t.translate_detailed(["I am fine. How are you?"], options)
    sums = sorted((a.normalized + b.normalized for a in one for b in two), reverse=True)
    assert [c.normalized for c in both] == pytest.approx(sums[:4], abs=1e-4)
    assert both[0].text == f"{one[0].text} {two[0].text}"


def test_one_string_instead_of_a_list_is_an_error() -> None:
    with pytest.raises(UserError, match="one str"):
        translator().translate("Hello")


@pytest.mark.parametrize("options", [4, 0, {"beam_size": 4}])
def test_options_are_decoding_options(options: Any) -> None:
    with pytest.raises(UserError, match=r"options=.*; give DecodingOptions\(beam_size=4\)"):
        translator().translate_detailed(["Hello"], options)


@pytest.mark.parametrize("given", [(), ("runs/mine",), ("runs/mine", "tokenizer.json")])
def test_a_translator_made_of_nothing_or_of_paths_says_what_loads_one(given: Any) -> None:
    with pytest.raises(UserError, match=r"Translator.from_pretrained\(PATH\)"):
        Translator(*given)


def test_a_tokenizer_of_another_model_is_refused() -> None:
    with pytest.raises(UserError, match="belong to different models"):
        Translator(make_model(), parts()[1])


class Unscaled(InputEmbeddings):
    """Has the parameters of its base class and computes something else."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.embedding(x)


@pytest.mark.parametrize("part", [PlainEmbeddings, Unscaled])
def test_a_model_with_other_parts_is_translated_with_them(
    part: type[InputEmbeddings], caplog: pytest.LogCaptureFixture
) -> None:
    model, tokenizer = parts()
    other = Transformer.from_config(model.config, replace(READABLE, embeddings=part))
    other.load_state_dict(model.state_dict())
    caplog.set_level(logging.INFO)
    found = Translator(other, tokenizer)
    assert isinstance(found.engine, ReadableEngine)
    reason = f"src_embed is a {part.__name__}, not the InputEmbeddings of the library's model"
    assert caplog.messages == [f"readable, float32: {reason}"]
    (best,) = found.engine.decode([[5, 6, 2]], DecodingOptions(n_best=1))
    written = [*best[0].ids, *[tokenizer.eos_id] * best[0].finished]
    assert best[0].score == pytest.approx(true_score(other, [5, 6, 2], written), abs=1e-4)
    with pytest.raises(UserError, match=rf"^the native engine cannot run this: {reason}; give"):
        Translator(other, tokenizer, engine="native")


class TestFromPretrained:
    def test_a_saved_translator_says_the_same(self, model_directory: Path) -> None:
        loaded = Translator.from_pretrained(model_directory, device="cpu")
        texts = ["Hello world", "I am fine. How are you?"]
        assert loaded.translate(texts) == translator().translate(texts)

    def test_a_run_directory_means_its_best_model(
        self, model_directory: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "best").symlink_to(model_directory)
        assert Translator.from_pretrained(tmp_path, device="cpu").translate([""]) == [""]

    @pytest.mark.parametrize("name", ["nowhere", "file.pt", "empty"])
    def test_what_holds_no_model_is_named(self, name: str, tmp_path: Path) -> None:
        (tmp_path / "file.pt").write_bytes(b"PK\x03\x04")
        (tmp_path / "empty").mkdir()
        with pytest.raises(UserError, match=f"{name}.*expected a"):
            Translator.from_pretrained(tmp_path / name)

    def test_without_a_shipped_model_it_says_what_to_do(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        from clearhead.translation import loading

        monkeypatch.setattr(loading, "SHIPPED", tmp_path / "en_fr")
        with pytest.raises(UserError, match="carries no translator; give --model DIR"):
            Translator.from_pretrained()

    def test_shipped_names_the_translator_in_the_package_unless_there_is_such_a_directory(
        self, model_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        assert find_model("shipped") == find_model(Path("shipped")) == find_model(None)
        shutil.copytree(model_directory, tmp_path / "shipped")
        assert find_model("shipped") == Path("shipped")

    @pytest.mark.parametrize(
        ("device", "message"), [("tpu", "'tpu' is unknown"), ("mps", "not available")]
    )
    def test_a_device_that_is_not_there_is_named(
        self, device: str, message: str, model_directory: Path
    ) -> None:
        import torch

        if device == "mps" and torch.backends.mps.is_available():
            pytest.skip("this machine has an mps device")
        with pytest.raises(UserError, match=message):
            Translator.from_pretrained(model_directory, device)

    @pytest.mark.parametrize("device", [0, -1, None])
    def test_a_device_is_a_name(self, device: Any, model_directory: Path) -> None:
        with pytest.raises(UserError, match=f"device={device} is not the name of a device"):
            Translator.from_pretrained(model_directory, device)

    @pytest.mark.parametrize(
        ("kind", "command"), [("bert", "fill-mask"), ("esm", "embed"), ("gpt2", "generate")]
    )
    @pytest.mark.parametrize("engine", ["native", "readable"])
    def test_a_model_that_does_not_translate_is_named_with_its_command(
        self, engine: EngineName, kind: str, command: str, tmp_path: Path
    ) -> None:
        (tmp_path / "config.json").write_text(json.dumps({"model_type": kind}), encoding="utf-8")
        with pytest.raises(UserError, match=f"holds a {kind} model, which cannot.*{command}"):
            Translator.from_pretrained(tmp_path, engine=engine)

    def test_no_threads_are_not_enough(self, model_directory: Path) -> None:
        with pytest.raises(UserError, match="threads=0"):
            Translator.from_pretrained(model_directory, threads=0)


def test_an_ensemble_translates_with_all_of_its_models(tmp_path: Path) -> None:
    first, other = save(tmp_path / "first"), save(tmp_path / "other")
    model = Transformer.from_pretrained(other)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.2 * torch.randn_like(parameter)
    model.save_pretrained(other)
    both = Translator.from_pretrained(first, "cpu", others=[other])
    texts = ["Hello world.", "The cat is fine."]
    engine = ensemble([ReadableEngine.of(one) for one in (translator().model, model)])
    tokenizer = both.tokenizer
    sources = [[*tokenizer.encode(text), tokenizer.eos_id] for text in texts]
    expected = [tokenizer.decode(best[0].ids).strip() for best in decode(engine, sources)]
    assert both.translate(texts) == expected
    assert expected != translator().translate(texts)


def test_others_are_a_list_of_directories(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"list of directories; give others=\['runs/b'\]"):
        Translator.from_pretrained(save(tmp_path / "a"), others="runs/b")


def test_a_readable_translator_can_be_pickled_and_a_native_one_says_why_not(tmp_path: Path) -> None:
    directory, texts = save(tmp_path / "model"), ["Hello world.", "The cat is fine."]
    for readable in (
        Translator.from_pretrained(directory, "cpu", engine="readable"),
        Translator(*parts(), engine="readable"),
        Translator.from_pretrained(directory, "cpu", engine="readable", others=[directory]),
    ):
        again = pickle.loads(pickle.dumps(readable))
        assert again.translate(texts) == readable.translate(texts)
        detailed = again.translate_detailed(texts, FAST, alignment_layer=-1)
        assert detailed == readable.translate_detailed(texts, FAST, alignment_layer=-1)
    with pytest.raises(UserError, match="load the model again, in each process"):
        pickle.dumps(Translator.from_pretrained(directory, engine="native"))


@pytest.mark.parametrize(
    ("source", "target", "english_to_french"),
    [("en", "fr", True), ("en-GB", "fr-CA", True), ("fr", "en", False), ("en", "de", False)],
)
def test_the_checks_of_english_and_french_are_made_for_these_languages_alone(
    source: str, target: str, english_to_french: bool, tmp_path: Path
) -> None:
    directory = save(tmp_path / "model")
    languages = json.dumps({"source": source, "target": target})
    (directory / "languages.json").write_text(languages, encoding="utf-8")
    t = Translator.from_pretrained(directory, "cpu")
    t.doubt_threshold = 0.0  # any score is low
    texts = ["Où est la gare de Marseille ?", "See https://a.example/b for it."]
    (french,), (url,) = t.translate_detailed(texts, FAST, mark_doubt=True)
    assert any("not English" in reason for reason in french.doubt) == english_to_french
    if not english_to_french:
        assert set(french.doubt) <= {"low score", "cut off"}
    for found in (french, url):
        assert "low score" in found.doubt
    assert "URL https://a.example/b missing" in url.doubt


def test_models_of_an_ensemble_share_their_tokenizer(tmp_path: Path) -> None:
    first, other = save(tmp_path / "first"), save(tmp_path / "other")
    Tokenizer.train(["quite other words stand here"] * 4, 330).save(other)
    with pytest.raises(UserError, match="other has another tokenizer"):
        Translator.from_pretrained(first, "cpu", others=[other])
