"""Adapters: a small directory comes back as the same model, and `peft` reads it, too."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from clearhead.errors import UserError
from clearhead.models import Bert, BertConfig, Gpt, GptConfig, Marian, MarianConfig
from clearhead.models.adapting import Adaptation, adapt, adapted_parts, merge
from clearhead.pretrained import from_pretrained, save_pretrained
from clearhead.pretrained.adapter import load_adapter, save_adapter
from clearhead.pretrained.new_heads import Answer, with_head
from tests.pretrained.reference import attention_mask, furthest, ragged
from tests.pretrained.test_new_heads import CASES, ENDINGS, LABELS, reference

HOW = Adaptation(rank=2, alpha=5.0, dropout=0.1, projections=("w_q", "w_v", "w_o"))


def learned(kind: str, answer: Answer, folder: Path) -> Any:
    """An adapted model that has learned something, its base in `folder`."""
    reference(kind, "ForMaskedLM").save_pretrained(folder)
    model = adapt(with_head(from_pretrained(folder), answer, LABELS), HOW)
    with torch.no_grad():
        for _, part in adapted_parts(model):
            part.up.weight.normal_(std=0.3)
        for parameter in model.heads.parameters():
            parameter.normal_(std=0.3)
    return model.eval()


@pytest.mark.parametrize(("kind", "answer"), CASES)
@torch.no_grad()
def test_an_adapter_with_its_base_is_the_adapted_model(
    kind: str, answer: Answer, tmp_path: Path
) -> None:
    model = learned(kind, answer, tmp_path / "base")
    save_adapter(model, HOW, tmp_path / "adapter")
    again, how = load_adapter(from_pretrained(tmp_path / "base"), tmp_path / "adapter")
    assert how.rank == 2 and set(how.projections) == set(HOW.projections)
    ids = ragged(32, (9, 4, 17), 1, low=4)
    mask = attention_mask(ids, 1)[1]
    assert torch.equal(again.heads[answer](again(ids, mask)), model.heads[answer](model(ids, mask)))
    small = (tmp_path / "adapter" / "adapter_model.safetensors").stat().st_size
    assert small < (tmp_path / "base" / "model.safetensors").stat().st_size


@pytest.mark.parametrize("change", ["adapted", "pruned"])
@pytest.mark.parametrize(
    "model",
    [
        Bert.from_config(BertConfig(14, 9, 16, 2, 4, 24)),
        Gpt.from_config(GptConfig(14, 9, 16, 2, 4, 24, bos_id=13, eos_id=13)),
        Marian.from_config(MarianConfig(14, 14, 9, 8, 16, 2, 2, 4, 24)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_model_that_its_configuration_does_not_describe_is_not_saved(
    model: Any, change: str, tmp_path: Path
) -> None:
    model = copy.deepcopy(model)
    stack = getattr(model, "encoder", None) or model.decoder
    if change == "adapted":
        adapt(model, HOW)
    else:
        stack.layers = stack.layers[:1]
    message = {"adapted": r"merge\(model\) first", "pruned": r"missing (en|de)coder\.layers\.1\."}
    with pytest.raises(UserError, match=message[change]):
        save_pretrained(model, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("kind", "answer"), CASES)
@torch.no_grad()
def test_transformers_loads_the_merged_model(kind: str, answer: Answer, tmp_path: Path) -> None:
    model = learned(kind, answer, tmp_path / "base")
    save_pretrained(merge(copy.deepcopy(model)), tmp_path / "merged")
    theirs = getattr(transformers, kind + ENDINGS[answer]).from_pretrained(tmp_path / "merged")
    ids = ragged(32, (9, 4, 17), 1, low=4)
    real, mask = attention_mask(ids, 1)
    where = real.bool() if answer == "token" else None
    expected = theirs.eval()(ids, real).logits
    assert furthest(model.heads[answer](model(ids, mask)), expected, where) <= 1e-5


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")
@pytest.mark.parametrize(("kind", "answer"), CASES)
@torch.no_grad()
def test_peft_loads_our_adapter_with_the_same_output(
    kind: str, answer: Answer, tmp_path: Path
) -> None:
    peft = pytest.importorskip("peft")
    model = learned(kind, answer, tmp_path / "base")
    save_adapter(model, HOW, tmp_path / "adapter")
    base = getattr(transformers, kind + ENDINGS[answer])
    theirs = base.from_pretrained(tmp_path / "base", num_labels=len(LABELS))
    theirs = peft.PeftModel.from_pretrained(theirs, tmp_path / "adapter").eval()
    ids = ragged(32, (9, 4, 17), 1, low=4)
    real, mask = attention_mask(ids, 1)
    where = real.bool() if answer == "token" else None
    expected = theirs(input_ids=ids, attention_mask=real).logits
    assert furthest(model.heads[answer](model(ids, mask)), expected, where) <= 1e-5


def broken(folder: Path, fault: str) -> None:
    path = folder / "adapter_model.safetensors"
    tensors = load_file(path)
    first = sorted(name for name in tensors if "lora_A" in name)[0]
    if fault == "missing":
        del tensors[first]
    elif fault == "extra":
        tensors["more"] = torch.zeros(2)
    elif fault == "shape":
        tensors[first] = torch.zeros(2, 5)
    elif fault == "settings":
        (folder / "adapter_config.json").write_text(json.dumps({"r": 2}), encoding="utf-8")
    save_file(tensors, path)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("missing", r"adapter lacks base_model\.model\.bert\.encoder\.layer\.0\..*lora_A"),
        ("extra", "holds, beyond what its settings say, more"),
        ("shape", r"has shape \(2, 5\) where this base has \(2, 12\)"),
        ("settings", "is not an adapter written by clearhead .it lacks 'target_modules'"),
    ],
)
def test_mismatching_files_are_named_in_one_line(fault: str, message: str, tmp_path: Path) -> None:
    save_adapter(learned("Bert", "sequence", tmp_path / "base"), HOW, tmp_path / "adapter")
    broken(tmp_path / "adapter", fault)
    with pytest.raises(UserError, match=message) as caught:
        load_adapter(from_pretrained(tmp_path / "base"), tmp_path / "adapter")
    assert "\n" not in str(caught.value)


def test_a_family_with_stacked_projections_has_no_adapter_file(tmp_path: Path) -> None:
    config = GptConfig(33, 40, 12, 1, 3, 20, heads=("token",))
    with pytest.raises(UserError, match=r"no separate matrix for .* save the merged model"):
        save_adapter(adapt(Gpt.from_config(config), HOW), HOW, tmp_path)
