"""What runs on a CPU runs on a GPU: no operation mixes tensors of both (`tests.simulated_gpu`)."""

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from clearhead import pipeline
from clearhead.decoding import DecodingOptions
from clearhead.decoding.engine import SamplingOptions
from clearhead.decoding.generation import generate
from clearhead.explain import trace
from clearhead.explain.attention import attention_maps, sentence_pair
from clearhead.explain.interpretability import (
    Head,
    effect_of,
    logit_lens,
    norms_by_depth,
    saliency,
)
from clearhead.explain.plots.training import flop_shares
from clearhead.models import Gpt, GptConfig, Transformer
from clearhead.models.adapting import Adaptation, adapt, merge
from clearhead.training.session import start
from clearhead.translation import Translator
from tests.explain import tiny
from tests.pipelines.models import bert, labelled
from tests.simulated_gpu import OnGpu, simulated_gpu
from tests.training.tiny import tiny_recipe, without_dropout
from tests.training.tiny_language import TASKS, tiny_language

Answer = Callable[[Translator], Any]


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with simulated_gpu(monkeypatch):
        yield


@pytest.mark.usefixtures("gpu")
def test_the_simulation_fails_where_a_gpu_does() -> None:
    x, y = torch.ones(3, device="cuda"), torch.ones(3)
    assert x.device.type == "cuda" and torch.equal((x + y.to(x.device)).cpu(), 2 * y)
    with pytest.raises(RuntimeError, match="same device"):
        x + y
    with pytest.raises(TypeError, match="cpu"):
        x.numpy()


ANSWERS: dict[str, Answer] = {
    "greedy": lambda t: t.translate(["red cat", "one"]),
    "beam": lambda t: t.translate(["red cat", "one"], beam_size=3),
    "alignments": lambda t: [
        [(one.text, one.alignment, one.score) for one in best]
        for best in t.translate_detailed(
            ["<b>red</b> cat", "a `x` b"], DecodingOptions(beam_size=2, n_best=2), 1, True
        )
    ],
    "maps": lambda t: [one.weights for one in attention_maps(t, known(t))],
    "ablation": lambda t: effect_of(t, tiny.SOURCE, [Head("cross", 1, 2)], tiny.TARGET).change,
    "lens": lambda t: logit_lens(t.model, known(t)).rank_of_written(),
    "norms": lambda t: norms_by_depth(t.model, known(t)),
    "saliency": lambda t: saliency(t.model, known(t)),
    "flops": lambda t: flop_shares(t.model, 5, 4),
    "trace": lambda t: [
        row.products for row in trace(t.model, *ids(t.model)).rows() if row.products
    ],
    "adapted": lambda t: merge(adapt(t.model, Adaptation(rank=2))).encode(ids(t.model)[0]),
    "copied": lambda t: copy.deepcopy(t.model)(*ids(t.model)),
}


def known(translator: Translator) -> Any:
    return sentence_pair(translator, tiny.SOURCE, tiny.TARGET)


def ids(model: Transformer) -> tuple[Tensor, Tensor]:
    device = next(model.parameters()).device
    return torch.tensor([[5, 6, 7]], device=device), torch.tensor([[4, 9]], device=device)


@pytest.mark.parametrize("name", ANSWERS)
def test_a_translator_answers_as_on_the_cpu(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = ANSWERS[name](tiny.translator())
    with simulated_gpu(monkeypatch):
        translator = tiny.translator()
        moved = Translator(translator.model.cuda(), translator.tokenizer, engine="readable")
        assert isinstance(next(moved.model.parameters()), OnGpu)
        assert_close(ANSWERS[name](moved), expected)


def assert_close(found: Any, expected: Any) -> None:
    """Equal, with rounding where they are tensors or numbers."""
    if isinstance(expected, Tensor):
        torch.testing.assert_close(found.cpu(), expected)
    elif isinstance(expected, dict):
        assert_close(list(found.items()), list(expected.items()))
    elif isinstance(expected, list | tuple):
        for one, other in zip(found, expected, strict=True):
            assert_close(one, other)
    elif isinstance(expected, np.ndarray | float):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    else:
        assert found == expected


@pytest.mark.parametrize("changes", [{}, {"optimizer": "muon"}, {"r_drop": 3.0}], ids=str)
def test_a_translator_is_trained_as_on_the_cpu(
    changes: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = losses(without_dropout(tiny_recipe(tmp_path, device="cpu", **changes)), tmp_path)
    with simulated_gpu(monkeypatch):
        recipe = without_dropout(tiny_recipe(tmp_path, device="cuda", precision="fp32", **changes))
        # Muon's products are bfloat16 on a GPU.
        rel = 3e-2 if "optimizer" in changes else 1e-3
        assert losses(recipe, tmp_path / "gpu") == pytest.approx(expected, rel=rel)


@pytest.mark.parametrize("task", TASKS)
def test_a_language_model_is_trained_as_on_the_cpu(
    task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes: dict[str, object] = {"dropout": 0.0}
    expected = losses(tiny_language(task, tmp_path, changes, device="cpu"), tmp_path / "cpu")
    with simulated_gpu(monkeypatch):
        recipe = tiny_language(task, tmp_path, changes, device="cuda", precision="fp32")
        assert losses(recipe, tmp_path / "gpu") == pytest.approx(expected, rel=1e-3)


def losses(recipe: Any, run: Path) -> list[float]:
    session = start(recipe, run / "run")
    return [session.trainer.step().loss for _ in range(3)]


@pytest.mark.parametrize(
    ("task", "architecture"),
    [
        ("fill-mask", "BertForMaskedLM"),
        ("text-classification", "BertForSequenceClassification"),
        ("token-classification", "BertForTokenClassification"),
        ("feature-extraction", "BertModel"),
    ],
)
def test_a_pipeline_answers_as_on_the_cpu(
    task: str, architecture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bert(tmp_path, architecture, **labelled(["no", "yes"]))
    texts = ["the [MASK] sleeps", "a [MASK]"]
    expected = pipeline(task, model=tmp_path, device="cpu", engine="readable")(texts)
    with simulated_gpu(monkeypatch):
        found = pipeline(task, model=tmp_path, device="cuda")(texts)
    assert_close(found, expected)


@pytest.mark.parametrize("options", [SamplingOptions(6, temperature=0), SamplingOptions(6, 0.8)])
def test_text_is_generated_as_on_the_cpu(
    options: SamplingOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(3)
    model = Gpt.from_config(GptConfig(33, seq_len=14, d_model=12, layers=2, h=3, d_ff=20))
    expected = generate(model, [[5, 6], [7]], options, seeds=[1, 2])
    with simulated_gpu(monkeypatch):
        assert generate(model.cuda(), [[5, 6], [7]], options, seeds=[1, 2]) == expected
