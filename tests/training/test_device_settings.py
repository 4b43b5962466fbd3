"""Device, number format and engine are chosen, logged, and refused in one line if missing."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

from clearhead.blocks import LayerNormalization, MultiHeadAttentionBlock
from clearhead.errors import UserError
from clearhead.fast import CheapDropout, processor
from clearhead.fast.accelerate import ON_CPU, ON_GPU, accelerate
from clearhead.models import Bert, BertConfig, build_transformer
from clearhead.training.device_settings import (
    DeviceSettings,
    choose_device,
    choose_device_settings,
    choose_engine,
)
from clearhead.training.objective import cross_entropy, fused_cross_entropy
from clearhead.training.recipe_file import build_recipe, load_recipe
from clearhead.training.session import Session, resume, start
from tests.decoding.tiny import make_model
from tests.training.tiny import tiny_recipe, without_dropout

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("capable", "wanted", "dtype", "words"),
    [
        (True, "auto", torch.bfloat16, "bfloat16 with float32 master weights (faster"),
        (False, "auto", torch.float32, "float32 (bfloat16 is not faster here)"),
        (True, "fp32", torch.float32, "float32 (set by run.precision)"),
        (
            False,
            "bf16",
            torch.bfloat16,
            "bfloat16 with float32 master weights (set by",
        ),
    ],
)
def test_the_number_format_and_its_reason(
    capable: bool,
    wanted: str,
    dtype: torch.dtype,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("clearhead.fast.processor.cpu_multiplies_bfloat16", lambda: capable)
    settings = choose_device_settings("cpu", wanted)  # type: ignore[arg-type]
    assert settings.dtype == dtype and settings.device.type == "cpu"
    assert settings.reason.startswith("cpu, ") and words in settings.reason


@pytest.fixture
def fresh_processor() -> Iterator[None]:
    """What is known of the processor is forgotten before the test and after it."""
    processor.cpu_multiplies_bfloat16.cache_clear()
    yield
    processor.cpu_multiplies_bfloat16.cache_clear()


@pytest.mark.usefixtures("fresh_processor")
def test_without_information_about_the_processor_it_is_float32(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(torch.cpu, "_is_avx512_bf16_supported", raising=False)
    assert choose_device_settings("cpu", "auto").dtype == torch.float32


@pytest.mark.usefixtures("fresh_processor")
@pytest.mark.parametrize(("seconds", "dtype"), [(0.5, torch.bfloat16), (2.0, torch.float32)])
def test_the_faster_data_type_is_chosen(
    seconds: float, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not all processors with instructions for bfloat16 are faster with it."""
    taken = {torch.bfloat16: seconds, torch.float32: 1.0}
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True, raising=False)
    monkeypatch.setattr(processor, "time_of_product", taken.__getitem__)
    assert choose_device_settings("cpu", "auto").dtype == dtype


@pytest.mark.parametrize("name", ["tpu", "", "gpu", "cuda:x", "cuda:", "cuda:-1", "CUDA", "cpu:1x"])
def test_an_unknown_device_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="is unknown; expected auto, cpu, cuda, cuda:N or mps"):
        choose_device(name)


def test_a_device_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    for name in ("cuda", "cuda:0", "mps", "cpu:3"):
        with pytest.raises(UserError, match="is not available"):
            choose_device(name)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(UserError, match="has 2 cuda devices"):
        choose_device("cuda:2")


@pytest.mark.parametrize(("wanted", "dtype"), [("auto", torch.float32), ("bf16", torch.bfloat16)])
def test_the_readable_engine_computes_in_float32_unless_set_otherwise(
    wanted: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clearhead.fast.processor.cpu_multiplies_bfloat16", lambda: True)
    settings = choose_device_settings("cpu", wanted, "readable")  # type: ignore[arg-type]
    assert settings.dtype == dtype
    assert ("run.engine: readable" in settings.reason) == (wanted == "auto")


def test_the_device_decides_about_padding() -> None:
    for device, step in (("cpu", 1), ("cuda:1", 8)):
        engine = choose_engine("auto", torch.device(device))
        assert (
            DeviceSettings(torch.device(device), torch.bfloat16, engine, "").length_multiple == step
        )


def test_auto_takes_the_gpu_if_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto").type == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto").type == "cuda"


def test_each_choice_has_its_operations_and_losses() -> None:
    readable = choose_engine("readable", CPU)
    assert (readable.operations, readable.token_loss) == (frozenset(), cross_entropy)
    for choice in ("auto", "fast"):
        fast = choose_engine(choice, CPU)  # type: ignore[arg-type]
        assert (fast.name, fast.operations, fast.token_loss) == (
            "fast",
            ON_CPU,
            fused_cross_entropy,
        )
        assert choose_engine(choice, torch.device("cuda")).operations == ON_GPU  # type: ignore[arg-type]


def test_the_description_names_what_is_replaced_in_this_model() -> None:
    sizes = {"seq_len": 14, "d_model": 12, "layers": 1, "h": 3, "d_ff": 20}
    bert = Bert.from_config(BertConfig(33, **sizes))
    fast = choose_engine("auto", CPU)
    listed = "fast: faster versions of dropout, normalization and loss"
    assert fast.describe(make_model(), predicts_tokens=True) == listed
    assert fast.describe(bert, predicts_tokens=False) == "fast: faster versions of dropout"
    nothing = "fast: no operation of this model has a faster version"
    assert fast.describe(nn.Linear(2, 3), predicts_tokens=False) == nothing
    readable = choose_engine("readable", CPU).describe(bert, predicts_tokens=True)
    assert readable == "readable: set by run.engine"


def logged(session: Session, caplog: pytest.LogCaptureFixture) -> str:
    with caplog.at_level(logging.INFO, "clearhead.train"):
        session.train()
    return caplog.text


@pytest.mark.parametrize(
    ("engine", "line"),
    [
        ("auto", "fast: faster versions of dropout, normalization and loss, float32 weights"),
        ("readable", "readable: set by run.engine, float32 weights"),
    ],
)
def test_one_line_of_the_log_names_the_engine_and_the_reason(
    engine: str, line: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    recipe = tiny_recipe(tmp_path, engine=engine, steps=1, average=0)
    assert logged(start(recipe, tmp_path / "run"), caplog).count(line) == 1


def parts_of(session: Session) -> set[type[nn.Module]]:
    return {type(module) for module in session.trainer.model.modules()}


def test_readable_replaces_nothing(tmp_path: Path) -> None:
    recipes = [tiny_recipe(tmp_path, engine=engine) for engine in ("readable", "fast")]
    readable, fast = (start(r, tmp_path / r.run.engine) for r in recipes)
    assert nn.Dropout in parts_of(readable) and CheapDropout not in parts_of(readable)
    assert CheapDropout in parts_of(fast) and nn.Dropout not in parts_of(fast)
    norms = [m for m in readable.trainer.model.modules() if type(m) is LayerNormalization]
    assert norms and not any("normalize" in vars(norm) for norm in norms)


@pytest.mark.parametrize("r_drop", [0.0, 3.0])
def test_without_dropout_both_engines_make_the_same_steps(r_drop: float, tmp_path: Path) -> None:
    losses = []
    for engine in ("readable", "fast"):
        recipe = without_dropout(tiny_recipe(tmp_path, r_drop=r_drop, engine=engine))
        session = start(recipe, tmp_path / engine)
        losses.append([session.trainer.step().loss for _ in range(10)])
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert losses[0][-1] < losses[0][0]


def test_a_run_is_resumed_with_the_other_engine(tmp_path: Path) -> None:
    recipe = without_dropout(tiny_recipe(tmp_path, engine="fast", average=0))
    whole = start(recipe, tmp_path / "whole")
    expected = [whole.trainer.step().loss for _ in range(6)]
    session = start(recipe, tmp_path / "run")
    for _ in range(3):
        session.trainer.step()
    session.checkpoints.save_last()
    run = recipe.run.model_copy(update={"engine": "readable"})
    again = resume(tmp_path / "run", recipe.model_copy(update={"run": run}))
    assert nn.Dropout in parts_of(again)
    assert [again.trainer.step().loss for _ in range(3)] == pytest.approx(expected[3:], rel=1e-5)


def test_an_older_recipe_has_the_engine_auto_and_an_unknown_one_is_refused() -> None:
    assert build_recipe({"run": {"steps": 5}}, "an older config.yaml").run.engine == "auto"
    with pytest.raises(UserError, match=r"run.engine = 'quick': input should be 'auto', 'reada"):
        load_recipe("first_light", ["run.engine=quick"])


def test_no_engine_records_attention_weights_which_take_memory() -> None:
    for choice in ("readable", "fast"):
        model = build_transformer(9, 9, 7, 6, d_model=12, N=1, h=3, d_ff=8)
        accelerate(model, choose_engine(choice, torch.device("cpu")).operations)
        model(torch.randint(0, 9, (2, 5)), torch.randint(0, 9, (2, 4))).sum().backward()
        blocks = [m for m in model.modules() if isinstance(m, MultiHeadAttentionBlock)]
        assert len(blocks) == 3 and all(block.attention_scores is None for block in blocks)
