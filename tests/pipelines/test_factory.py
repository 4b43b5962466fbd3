"""Tasks and arguments are those of transformers, or get one line with the accepted ones."""

import json
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch

from clearhead import pipeline
from clearhead.errors import UserError
from clearhead.pipelines import factory
from clearhead.pipelines.factory import TASKS, device_name
from clearhead.pipelines.translation import TranslationPipeline
from clearhead.text.inputs import check_texts, texts_of
from tests.translation.tiny import translator


def test_an_unknown_task_is_an_error_that_lists_the_known() -> None:
    with pytest.raises(UserError, match=f"'summarize'; clearhead has {', '.join(TASKS)}"):
        pipeline("summarize", model=translator())


def test_a_task_almost_right_is_told_the_right_one() -> None:
    with pytest.raises(UserError, match=re.escape("'translaton' (did you mean 'translation'?)")):
        pipeline("translaton", model=translator())


def test_another_pair_of_languages_is_the_task_of_translation() -> None:
    for task in ("translation_en_to_de", "translation_de_to_en", "translation_fr_to_en"):
        with pytest.raises(UserError, match=re.escape(f"{task!r} (did you mean 'translation'?)")):
            pipeline(task, model=translator())


@pytest.mark.parametrize("home", sorted(set(TASKS.values())))
def test_every_row_names_a_class_that_loads_a_model(home: str) -> None:
    module, _, name = home.partition(":")
    assert callable(getattr(import_module(module), name).from_pretrained)


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(UserError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("auto", "auto"), (None, "auto"), (-1, "cpu"), (0, "cuda:0"), (3, "cuda:3"),
        (torch.device("cpu"), "cpu"), (torch.device("cuda", 1), "cuda:1"), ("mps", "mps"),
    ],
)  # fmt: skip
def test_a_device_has_the_forms_of_transformers(given: Any, expected: str) -> None:
    assert device_name(given) == expected


def test_a_device_map_is_a_device() -> None:
    assert device_name("auto", "auto") == "auto" and device_name("auto", "cpu") == "cpu"
    assert "on a single device" in refused(lambda: device_name("auto", {"encoder": 0}))
    assert "on a single device" in refused(lambda: device_name("cuda:0", "auto"))
    assert "device=1.5 is not a device" in refused(lambda: device_name(1.5))


def test_the_device_reaches_the_pipeline_as_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr(
        TranslationPipeline, "from_pretrained",
        classmethod(lambda cls, model, device, threads, engine: seen.append(device)),
    )  # fmt: skip
    pipeline("translation", device=-1)
    pipeline("translation", device_map="auto")
    pipeline("translation", None, torch.device("cpu"))
    assert seen == ["cpu", "auto", "cpu"]


@pytest.mark.parametrize("name", ["batch_size", "torch_dtype", "framework", "tokenizer"])
def test_an_unknown_argument_of_pipeline_is_refused_with_the_accepted_ones(name: str) -> None:
    found = refused(lambda: pipeline("translation", **{name: 1}))
    assert f"pipeline does not accept {name}" in found
    assert "it accepts task, model, device, threads, engine, device_map" in found


def test_a_model_of_torch_modules_is_refused_because_it_has_no_tokenizer() -> None:
    found = refused(lambda: pipeline("fill-mask", model=torch.nn.Linear(2, 3)))
    assert "model is of type Linear; expected a directory" in found


@pytest.mark.parametrize("name", ["do_sample", "batch_size", "truncation"])
def test_an_unknown_argument_of_a_call_is_refused_with_the_accepted_ones(name: str) -> None:
    translate = TranslationPipeline(translator())
    found = refused(lambda: translate("Hello.", **{name: 1}))
    assert f"TranslationPipeline does not accept {name}" in found
    assert "inputs, num_beams, num_return_sequences, max_new_tokens" in found


def test_an_argument_with_a_typing_error_is_answered_with_the_nearest() -> None:
    translate = TranslationPipeline(translator())
    assert "did you mean num_beams?" in refused(lambda: translate("Hello.", num_beam=2))


@pytest.mark.parametrize("task", sorted(set(factory.TASKS)))
def test_each_pipeline_refuses_unknown_arguments(task: str) -> None:
    module, _, name = factory.TASKS[task].partition(":")
    call = getattr(import_module(module), name).__call__
    assert f"{name} does not accept return_tensors" in refused(
        lambda: call(None, "text", return_tensors=True)
    )


def test_max_length_counts_the_start_token_and_max_new_tokens_does_not() -> None:
    translate = TranslationPipeline(translator())
    expected = translate("Hello world.", num_beams=1, max_new_tokens=4)
    assert translate("Hello world.", num_beams=1, max_length=5) == expected
    assert translate("Hello world.", num_beams=1, max_length=3) != expected
    both = refused(lambda: translate("Hello.", max_length=5, max_new_tokens=4))
    assert "max_length and max_new_tokens are both given" in both


def test_more_sequences_than_beams_are_refused_by_the_names_of_the_arguments() -> None:
    found = refused(lambda: TranslationPipeline(translator())("Hello.", num_return_sequences=5))
    assert "num_return_sequences=5 is more than num_beams=4" in found


def test_texts_that_are_none_are_refused_by_their_number() -> None:
    assert "text 1 is None; expected a str" in refused(lambda: translator().translate(["a", None]))
    translate = TranslationPipeline(translator())
    assert "text 0 is None" in refused(lambda: translate([None]))
    assert "the input is None" in refused(lambda: translate(None))
    assert "text 1 is of type bytes" in refused(lambda: check_texts(["a", b"b"]))
    for check in (check_texts, translator().translate):
        assert "expected a list of texts" in refused(lambda check=check: check(None))
        assert "expected a list of texts" in refused(lambda check=check: check(3))


def test_texts_come_as_one_as_a_tuple_or_from_a_generator() -> None:
    assert texts_of("ab") == ["ab"]
    assert texts_of(("a", "b")) == texts_of(letter for letter in "ab") == ["a", "b"]
    assert "the input is of type int" in refused(lambda: texts_of(7))


@pytest.mark.parametrize(
    ("kind", "does"),
    [
        ("clearhead-transformer", "translates"),
        ("marian", "translates"),
        ("gpt2", "continues texts"),
    ],
)
@pytest.mark.parametrize("task", ["fill-mask", "feature-extraction", "text-classification", "ner"])
def test_a_model_that_is_no_encoder_is_named_with_its_command(
    task: str, kind: str, does: str, tmp_path: Path
) -> None:
    (tmp_path / "last").mkdir()  # a training run
    config = json.dumps({"model_type": kind})
    (tmp_path / "last" / "config.json").write_text(config, encoding="utf-8")
    found = refused(lambda: pipeline(task, model=tmp_path))
    assert found.startswith(f"{tmp_path / 'last'} holds a {kind} model, which {does}")
    assert f"`clearhead {'generate' if kind == 'gpt2' else 'translate'}`" in found
    assert "needs a BERT or an ESM-2" in found


@pytest.mark.parametrize("task", [None, ["ner"], 3])
def test_a_task_that_is_no_text_is_refused(task: object) -> None:
    with pytest.raises(UserError, match="there is no task"):
        pipeline(task, model="model")  # type: ignore[call-overload]
