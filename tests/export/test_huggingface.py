from dataclasses import replace
from pathlib import Path

import pytest
import torch

from clearhead.decoding import DecodingOptions, decode
from clearhead.errors import UserError
from clearhead.export.exporting import TARGETS, engine_of, export
from clearhead.export.verify import verify
from clearhead.models.weight_files import SHIPPED
from clearhead.translation import Translator
from tests.export import models

transformers = pytest.importorskip("transformers")
TARGET = TARGETS["huggingface"]
TEXTS = ["Where is he?", "A </s> typed by hand, <pad>.", "  two  spaces ", "d'été « oui » 😀", "\t"]


def test_the_shipped_model_gives_the_same_translations(directory: Path) -> None:
    models.assert_shipped_agrees(engine_of(TARGET)(directory))


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_pre_and_post_norm_have_architectures(norm: str, tmp_path: Path) -> None:
    model = models.tiny(norm)
    engine = engine_of(TARGET)(models.exported(model, "huggingface", tmp_path))
    models.assert_same_translations(engine, model)
    found = verify(model, engine, models.tiny_sources(model, 9))
    assert found.logit_difference < 1e-3


def test_a_bos_token_that_is_the_eos_token_ends_translations(tmp_path: Path) -> None:
    model = models.tiny()
    model.config = replace(model.config, bos_id=model.config.eos_id)
    engine = engine_of(TARGET)(models.exported(model, "huggingface", tmp_path))
    models.assert_same_translations(engine, model)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_saving_it_with_transformers_does_not_change_it(norm: str, tmp_path: Path) -> None:
    model = models.tiny(norm)
    engine = engine_of(TARGET)(models.exported(model, "huggingface", tmp_path))
    engine.model.save_pretrained(tmp_path / "again")
    again = engine_of(TARGET)(tmp_path / "again")
    sources = models.tiny_sources(model, 3)
    pairs = zip(engine.greedy_logits(sources, 5), again.greedy_logits(sources, 5), strict=True)
    for (_, once), (_, twice) in pairs:
        assert torch.equal(once, twice)


@pytest.mark.parametrize("loader", ["PreTrainedTokenizerFast", "AutoTokenizer"])
def test_its_tokenizer_gives_our_ids_and_eos(loader: str, directory: Path) -> None:
    theirs = getattr(transformers, loader).from_pretrained(directory)
    ours = models.shipped()[1]
    for text in TEXTS:
        ids = theirs(text)["input_ids"]
        assert ids == [*ours.encode(text), ours.eos_id]
        assert theirs.decode(ids, skip_special_tokens=True) == ours.decode(ids)


def test_the_example_of_its_readme_runs(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    models.run_usage(directory, monkeypatch)
    ours = Translator(*models.shipped()).translate(["Where is the station?"])
    assert capsys.readouterr().out.splitlines() == ours


def test_bfloat16_has_half_the_size(directory: Path, tmp_path: Path) -> None:
    export(SHIPPED, TARGET, tmp_path / "half", "bfloat16")
    sizes = [(p / "model.safetensors").stat().st_size for p in (directory, tmp_path / "half")]
    assert sizes[1] < 0.51 * sizes[0]
    assert engine_of(TARGET)(tmp_path / "half").model.dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("tie", "d_model", "message"), [(False, 12, "tie_embeddings=false"), (True, 9, "odd width")]
)
def test_a_model_without_matching_architecture_is_refused_in_one_line(
    tie: bool, d_model: int, message: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=message) as caught:
        models.exported(models.tiny(tie=tie, d_model=d_model), "huggingface", tmp_path)
    assert "\n" not in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


def test_its_longest_translation_is_as_long_as_ours(tmp_path: Path) -> None:
    model = models.tiny()
    model.projection_layer.get_parameter("proj.bias").data[model.config.eos_id] = -30.0
    engine = engine_of(TARGET)(models.exported(model, "huggingface", tmp_path))
    source = max(models.tiny_sources(model), key=len)
    written = engine.model.generate(torch.tensor([source]))[0].tolist()
    assert written[1:] == decode(model, [source], DecodingOptions(beam_size=4))[0][0].ids
