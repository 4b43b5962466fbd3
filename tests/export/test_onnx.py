from pathlib import Path

import pytest

from clearhead.decoding import DecodingOptions, decode
from clearhead.export.exporting import TARGETS, engine_of
from clearhead.export.verify import verify
from clearhead.translation import Translator
from tests.export import models

for package in ("onnx", "onnxscript", "onnxruntime"):
    pytest.importorskip(package)
TARGET = TARGETS["onnx"]


def test_the_shipped_model_gives_the_same_translations(directory: Path) -> None:
    models.assert_shipped_agrees(engine_of(TARGET)(directory))


def test_the_example_of_its_readme_runs(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    models.run_usage(directory, monkeypatch)
    ours = Translator(*models.shipped()).translate(["Where is the station?"])
    assert capsys.readouterr().out.splitlines() == ours


def test_a_model_of_another_shape_gives_the_same_scores(tmp_path: Path) -> None:
    model = models.tiny("post", tie=False)  # tracing takes seconds: one is enough
    engine = engine_of(TARGET)(models.exported(model, "onnx", tmp_path))
    sources = models.tiny_sources(model)
    # A source of one token, to check that no axis of the graph is constant.
    sources.append([model.config.eos_id])
    for options in (
        DecodingOptions(beam_size=1),
        DecodingOptions(beam_size=4, n_best=3),
        DecodingOptions(beam_size=3, no_repeat_ngram=2, batch_tokens=64),
    ):
        ours, theirs = (decode(it, sources, options) for it in (model, engine.engine))
        for one, other in zip(
            ours, theirs, strict=True
        ):  # hypotheses of equal score may be swapped
            scores = {tuple(h.ids): h.score for h in one}
            assert {tuple(h.ids): h.score for h in other} == pytest.approx(scores, abs=1e-3)
    assert verify(model, engine, sources[:7]).logit_difference < 1e-3
