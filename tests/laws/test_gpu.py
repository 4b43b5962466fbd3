"""A GPU computes what the CPU computes. These tests run where torch finds one, and skip elsewhere.

float32 on a GPU sums in another order than the CPU, so results agree to rounding error; a run that
is resumed on the same GPU agrees to the bit.
"""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clearhead.blocks import MultiHeadAttentionBlock
from clearhead.blocks.masks import decoder_mask, padding_mask
from clearhead.blocks.normalization import LayerNormalization
from clearhead.decoding import DecodingOptions, ReadableEngine
from clearhead.decoding.readable import decode
from clearhead.fast.accelerate import ON_GPU, accelerate
from clearhead.fast.loss import projected_cross_entropy
from clearhead.models import Bert, BertConfig, Esm, EsmConfig, Gpt, GptConfig
from clearhead.training.recipe import Recipe
from clearhead.training.session import Session, resume, start
from clearhead.translation import Translator
from tests.benchmarks.quality.test_contest import check_resumption, tiny_task
from tests.decoding.tiny import VARIANTS, make_marian, make_model, random_sources
from tests.training.test_resume import records, same_files
from tests.training.tiny import (
    Killed,
    assert_same_state,
    kill_after,
    state_of,
    tiny_recipe,
    without_dropout,
)
from tests.training.tiny_language import TASKS, tiny_language

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU")
BATCH, HEADS, QUERIES, KEYS, D_K = 3, 2, 5, 7, 4


@pytest.fixture(autouse=True)
def full_precision() -> Iterator[None]:
    """Matrix products are computed in float32, not in TF32."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    yield
    torch.set_float32_matmul_precision(before)


def masks() -> dict[str, Tensor | None]:
    """All that occur; in the last one, a query sees nothing and a whole sentence is padding."""
    padding = torch.ones(BATCH, 1, 1, KEYS, dtype=torch.bool)
    padding[1, ..., 4:] = False
    nothing = torch.ones(BATCH, 1, QUERIES, KEYS, dtype=torch.bool)
    nothing[0, :, 2] = nothing[2] = False
    causal = torch.ones(KEYS, KEYS, dtype=torch.bool).tril()[-QUERIES:]
    return {"none": None, "padding": padding, "causal": causal & padding, "nothing": nothing}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", masks())
def test_attention_kernels_compute_the_formula_and_its_gradients(
    name: str, dtype: torch.dtype
) -> None:
    torch.manual_seed(1)
    block = MultiHeadAttentionBlock(HEADS * D_K, HEADS, 0.0)
    faster = accelerate(copy.deepcopy(block), ON_GPU)
    shapes = [(BATCH, HEADS, n, D_K) for n in (QUERIES, KEYS, KEYS)]
    inputs = [torch.randn(shape).to(dtype) for shape in shapes]
    mask, found = masks()[name], []
    for part, device, exact in ((block, "cpu", torch.float64), (faster, "cuda", dtype)):
        q, k, v = (x.to(device, exact).requires_grad_() for x in inputs)
        x, _ = part.attention(q, k, v, None if mask is None else mask.to(device), None)
        x.square().sum().backward()
        found.append([t.double().cpu() for t in (x.detach(), q.grad, k.grad, v.grad)])
    tolerance = 1e-5 if dtype == torch.float32 else 3e-2
    for formula, kernel in zip(*found, strict=True):
        torch.testing.assert_close(kernel, formula, rtol=tolerance, atol=tolerance)


def test_normalization_and_loss_compute_the_formula() -> None:
    torch.manual_seed(1)
    x, norm = torch.randn(5, 12), LayerNormalization(12)
    faster = accelerate(copy.deepcopy(norm), ON_GPU).cuda()
    torch.testing.assert_close(faster(x.cuda()).cpu(), norm(x), rtol=1e-4, atol=1e-4)
    hidden, weight, bias = torch.randn(11, 6), torch.randn(9, 6), torch.randn(9)
    labels = torch.randint(9, (11,))
    expected = F.cross_entropy(
        F.linear(hidden, weight, bias), labels, label_smoothing=0.1, reduction="sum"
    )
    inputs = (t.cuda() for t in (hidden, weight, bias, labels))
    torch.testing.assert_close(projected_cross_entropy(*inputs, 0.1)[0].cpu(), expected)


def language_models() -> dict[str, nn.Module]:
    """One small random model of each family that reads a single text."""
    torch.manual_seed(1)
    sizes: dict[str, Any] = {"seq_len": 14, "d_model": 12, "layers": 2, "h": 3, "d_ff": 20}
    return {
        "Bert": Bert.from_config(BertConfig(33, **sizes)),
        "Gpt": Gpt.from_config(GptConfig(33, **sizes)),
        "Esm": Esm.from_config(EsmConfig(33, **sizes, pad_id=1)),
    }


@pytest.mark.parametrize("name", ["Bert", "Gpt", "Esm"])
@torch.inference_mode()
def test_language_models_give_the_same_outputs(name: str) -> None:
    model, ids = language_models()[name].eval(), torch.randint(4, 33, (5, 9))
    expected = model(ids)
    found = model.cuda()(ids.cuda())
    for ours, theirs in zip(_tensors(found), _tensors(expected), strict=True):
        torch.testing.assert_close(ours.cpu(), theirs, rtol=1e-4, atol=1e-4)


def _tensors(output: object) -> list[Tensor]:
    """A tensor, or the tensors of a named tuple."""
    parts = output if isinstance(output, tuple) else (output,)
    return [part for part in parts if isinstance(part, Tensor)]


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize("norm, tie", [*VARIANTS, ("marian", True)])
def test_a_translation_is_the_same(norm: str, tie: bool, beam_size: int) -> None:
    model = make_marian() if norm == "marian" else make_model(norm, tie)
    sources = random_sources(model, 20)
    options = DecodingOptions(beam_size=beam_size, n_best=beam_size)
    expected = decode(model, sources, options)
    engine = ReadableEngine.of(model.cuda())
    together = engine.decode(sources, options)
    alone = [engine.decode([source], options)[0] for source in sources]
    for found in (together, alone):
        for ours, theirs in zip(found, expected, strict=True):
            assert [one.ids for one in ours] == [one.ids for one in theirs]
            assert [one.score for one in ours] == pytest.approx(
                [one.score for one in theirs], abs=1e-3
            )


def test_masks_are_built_on_the_device_of_the_ids() -> None:
    ids = torch.tensor([[5, 6, 2, 0], [7, 2, 0, 0]], device="cuda")
    for build in (padding_mask, decoder_mask):
        assert torch.equal(build(ids, 0).cpu(), build(ids.cpu(), 0))


def losses_of(recipe: Recipe, run: Path, steps: int = 8) -> list[float]:
    session = start(recipe, run)
    return [session.trainer.step().loss for _ in range(steps)]


VARIATIONS: dict[str, dict[str, Any]] = {
    "fast": {}, "readable": {"engine": "readable"}, "muon": {"optimizer": "muon"},
    "r_drop": {"r_drop": 3.0}, "gradient checkpointing": {"gradient_checkpointing": True},
    "accumulated": {"accumulate": 2}, "compiled": {"compile": True},
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")  # torch.compile warns of its own code
@pytest.mark.parametrize("name", VARIATIONS)
def test_training_makes_the_same_steps(name: str, tmp_path: Path) -> None:
    settings = VARIATIONS[name]
    on_gpu = losses_of(
        without_dropout(tiny_recipe(tmp_path, device="cuda", **settings)), tmp_path / "gpu"
    )
    plain = {**settings, "device": "cpu", "engine": "readable", "compile": False}
    on_cpu = losses_of(without_dropout(tiny_recipe(tmp_path, **plain)), tmp_path / "cpu")
    # Muon's products are bfloat16 on the GPU, which agree to two digits.
    assert on_gpu == pytest.approx(on_cpu, rel=3e-2 if name == "muon" else 1e-3)
    assert on_gpu[-1] < on_gpu[0]


@pytest.mark.parametrize("task", TASKS)
def test_language_models_train_as_on_the_cpu(task: str, tmp_path: Path) -> None:
    losses = []
    for device in ("cuda", "cpu"):
        recipe = tiny_language(task, tmp_path, {"dropout": 0.0}, device=device)
        losses.append(losses_of(recipe, tmp_path / device))
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


RESUMED: dict[str, dict[str, Any]] = {
    "float32": {}, "bfloat16": {"precision": "bf16"}, "muon": {"optimizer": "muon"},
    "gradient checkpointing": {"gradient_checkpointing": True}, "consistent": {"r_drop": 5.0},
}  # fmt: skip


@pytest.mark.parametrize("settings", RESUMED.values(), ids=RESUMED)
def test_killed_and_resumed_with_dropout_is_never_stopped(
    settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = tiny_recipe(tmp_path, device="cuda", **settings)
    whole = start(recipe, tmp_path / "whole")
    whole.train()
    expected, random = state_of(whole), torch.cuda.get_rng_state()
    session = start(recipe, tmp_path / "killed")
    for step in (2, 5, 8):
        kill_after(monkeypatch, session, step)
        with pytest.raises(Killed):
            session.train()
        torch.manual_seed(step)  # another process has other random states, this device's too
        session = resume(tmp_path / "killed")
    session.train()
    assert_same_state(state_of(session), expected)
    assert torch.equal(torch.cuda.get_rng_state(), random)
    assert records(tmp_path / "killed") == records(tmp_path / "whole")
    same_files(tmp_path / "killed", tmp_path / "whole")


def test_a_contest_of_training_that_was_stopped_continues_exactly(tmp_path: Path) -> None:
    task = tiny_task(tmp_path / "task", "cuda")
    assert task.device.type == "cuda"
    check_resumption(task, tmp_path)


@pytest.mark.parametrize("first, second", [("cuda", "cpu"), ("cpu", "cuda")])
def test_a_run_moves_to_the_other_device(first: str, second: str, tmp_path: Path) -> None:
    recipe = without_dropout(tiny_recipe(tmp_path, device=first, average=0))
    whole = start(recipe, tmp_path / "whole")
    expected = [whole.trainer.step().loss for _ in range(8)]
    session = start(recipe, tmp_path / "run")
    for _ in range(4):
        session.trainer.step()
    session.checkpoints.save_last()
    moved = recipe.model_copy(update={"run": recipe.run.model_copy(update={"device": second})})
    again: Session = resume(tmp_path / "run", moved)
    assert next(again.trainer.model.parameters()).device.type == second
    assert [again.trainer.step().loss for _ in range(4)] == pytest.approx(expected[4:], rel=1e-3)


TEXTS = [
    "Good morning.", "The children are playing in the garden.", "I lost my keys on 12 May 2021.",
    "How much does this cost?", "She works as a nurse in Lyon.", "It was raining, so we stayed in.",
    "Please send me the invoice before Friday.", "Attention is all you need.",
]  # fmt: skip


@pytest.mark.parametrize("beam_size", [1, 4])
def test_the_shipped_translator_writes_the_same(beam_size: int) -> None:
    on_gpu, on_cpu = (
        Translator.from_pretrained(device=device, engine="readable") for device in ("cuda", "cpu")
    )
    expected = on_cpu.translate(TEXTS, beam_size=beam_size)
    assert on_gpu.translate(TEXTS, beam_size=beam_size) == expected


def test_in_bfloat16_it_writes_nearly_the_same() -> None:
    rounded = Translator.from_pretrained(device="cuda", precision="bfloat16").translate(TEXTS)
    exact = Translator.from_pretrained(device="cpu").translate(TEXTS)
    assert sacrebleu.corpus_bleu(rounded, [exact]).score > 90
