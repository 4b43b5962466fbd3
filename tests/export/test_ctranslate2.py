import json
from dataclasses import replace
from pathlib import Path

import pytest

from clearhead.export.exporting import TARGETS, engine_of, export
from clearhead.export.verify import verify
from clearhead.models.weight_files import SHIPPED
from clearhead.translation import Translator
from tests.export import models

pytest.importorskip("ctranslate2")
TARGET = TARGETS["ctranslate2"]


def test_the_shipped_model_gives_the_same_translations(directory: Path) -> None:
    models.assert_shipped_agrees(engine_of(TARGET)(directory))


@pytest.mark.parametrize(("norm", "tie"), models.VARIANTS)
def test_every_variant_gives_the_same_translations(norm: str, tie: bool, tmp_path: Path) -> None:
    model = models.tiny(norm, tie)
    engine = engine_of(TARGET)(models.exported(model, "ctranslate2", tmp_path))
    models.assert_same_translations(engine, model)
    found = verify(model, engine, models.tiny_sources(model, 9))
    assert found.logit_difference < 1e-3


def test_padding_and_bos_are_never_predicted(tmp_path: Path) -> None:
    model = models.tiny()
    model.projection_layer.get_parameter("proj.bias").data[:2] = 50.0
    engine = engine_of(TARGET)(models.exported(model, "ctranslate2", tmp_path))
    found = engine.translate(models.tiny_sources(model, 5), 4, 9)
    assert not {0, 1} & {number for ids in found for number in ids}


def test_a_bos_token_that_is_the_eos_token_ends_translations(tmp_path: Path) -> None:
    model = models.tiny()
    model.config = replace(model.config, bos_id=model.config.eos_id)
    engine = engine_of(TARGET)(models.exported(model, "ctranslate2", tmp_path))
    models.assert_same_translations(engine, model)


def test_int8_has_a_quarter_of_the_size_and_similar_translations(
    directory: Path, tmp_path: Path
) -> None:
    export(SHIPPED, TARGET, tmp_path / "int8", "int8")
    sizes = [(path / "model.bin").stat().st_size for path in (directory, tmp_path / "int8")]
    assert sizes[1] < 0.3 * sizes[0]
    engine = engine_of(TARGET)(tmp_path / "int8")
    theirs = engine.translate(models.shipped_sources()[:50], 1, 64)
    ours = models.shipped_translations(1)[:50]
    assert sum(a == b for a, b in zip(ours, theirs, strict=True)) >= 40


def test_its_vocabulary_is_ours_with_special_tokens_and_bytes(directory: Path) -> None:
    vocabulary = json.loads((directory / "shared_vocabulary.json").read_text(encoding="utf-8"))
    tokenizer = models.shipped()[1]
    assert vocabulary == [tokenizer.piece(i) for i in range(tokenizer.vocab_size)]
    assert vocabulary[:4] == ["<pad>", "<s>", "</s>", "<0x00>"]


def test_the_example_of_its_readme_runs(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    models.run_usage(directory, monkeypatch)
    ours = Translator(*models.shipped()).translate(["Where is the station?"])
    assert capsys.readouterr().out.splitlines() == ours


def test_the_bos_token_may_lie_beyond_the_source_vocabulary(tmp_path: Path) -> None:
    model = models.tiny("pre", False)
    model.config = replace(model.config, bos_id=model.config.src_vocab_size + 3)
    engine = engine_of(TARGET)(models.exported(model, "ctranslate2", tmp_path))
    models.assert_same_translations(engine, model)
