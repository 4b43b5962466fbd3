"""ESM-2: the numbers of `transformers`, from its files, and its files again."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from clearhead.models.esm import Esm, EsmConfig
from clearhead.pretrained import from_pretrained, save_pretrained
from tests.pretrained.reference import (
    CLOSE,
    attention_mask,
    check_layers,
    disturbed,
    furthest,
    ragged,
    same_state,
    saved,
)

MAPS = Path("/proc/self/maps")
ALPHABET = {"vocab_size": 33, "mask_token_id": 32, "pad_token_id": 1}
KIND = {"position_embedding_type": "rotary", "token_dropout": True,
        "emb_layer_norm_before": False, "layer_norm_eps": 1e-5,
        "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}  # fmt: skip
SIZES: dict[str, dict[str, Any]] = {
    "tiny": {"hidden_size": 12, "num_hidden_layers": 1, "num_attention_heads": 3,
             "intermediate_size": 28, "max_position_embeddings": 40},
    "deep": {"hidden_size": 40, "num_hidden_layers": 5, "num_attention_heads": 4,
             "intermediate_size": 64, "max_position_embeddings": 64},
    "8M": {"hidden_size": 320, "num_hidden_layers": 6, "num_attention_heads": 20,
           "intermediate_size": 1280, "max_position_embeddings": 1026},
}  # fmt: skip
HEADS = {
    "EsmForMaskedLM": "masked_lm",
    "EsmForSequenceClassification": "sequence",
    "EsmForTokenClassification": "token",
}


def reference(directory: Path, architecture: str, size: str, **more: Any) -> Any:
    config = transformers.EsmConfig(**ALPHABET, **KIND, **SIZES[size], **more)
    return saved(disturbed(getattr(transformers, architecture)(config)), directory)


@pytest.mark.parametrize("size", SIZES)
@torch.no_grad()
def test_every_layer_equals_theirs(tmp_path: Path, size: str) -> None:
    theirs = reference(tmp_path, "EsmForMaskedLM", size)
    ours = from_pretrained(tmp_path)
    assert isinstance(ours, Esm)
    longest = min(theirs.config.max_position_embeddings, 300)
    ids = ragged(33, (7, longest, 2, 19), 1, low=4)
    ids[1, 5:9] = 32  # four residues are hidden here, and one there
    ids[3, 2] = 32
    real, mask = attention_mask(ids, 1)
    answer = theirs(ids, real, output_hidden_states=True, output_attentions=True)
    logits = ours.heads["masked_lm"](ours(ids, mask))
    assert furthest(logits, answer.logits, real.bool()) <= CLOSE
    assert torch.equal(logits.argmax(-1)[real.bool()], answer.logits.argmax(-1)[real.bool()])
    check_layers(ours, lambda: ours(ids, mask), answer, ("embed", "encoder"), real.bool())


@pytest.mark.parametrize("architecture", HEADS)
@torch.no_grad()
def test_every_head_equals_theirs(tmp_path: Path, architecture: str) -> None:
    theirs = reference(tmp_path, architecture, "deep", num_labels=5)
    ours = from_pretrained(tmp_path)
    ids = ragged(33, (24, 3, 9), 1, low=4)
    real, mask = attention_mask(ids, 1)
    expected = theirs(ids, real).logits
    logits = ours.heads[HEADS[architecture]](ours(ids, mask))
    assert furthest(logits, expected, real.bool() if logits.dim() == 3 else None) <= CLOSE


@torch.no_grad()
def test_without_a_mask_nothing_is_padding(tmp_path: Path) -> None:
    theirs, ours = reference(tmp_path, "EsmModel", "deep"), from_pretrained(tmp_path)
    ids = ragged(33, (24, 24), 1, low=4)
    assert furthest(ours(ids), theirs(ids).last_hidden_state) <= CLOSE


@pytest.mark.parametrize("architecture", ["EsmModel", *HEADS])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_transformers_loads_what_we_save_bit_identically(
    tmp_path: Path, architecture: str, dtype: torch.dtype
) -> None:
    config = transformers.EsmConfig(**ALPHABET, **KIND, **SIZES["deep"], num_labels=4)
    theirs = saved(disturbed(getattr(transformers, architecture)(config)).to(dtype), tmp_path / "a")
    save_pretrained(from_pretrained(tmp_path / "a", dtype=None), tmp_path / "b")
    same_state(theirs, type(theirs).from_pretrained(tmp_path / "b", dtype="auto"))


def test_the_contact_head_is_kept(tmp_path: Path) -> None:
    theirs = reference(tmp_path / "a", "EsmForMaskedLM", "tiny")
    save_pretrained(from_pretrained(tmp_path / "a"), tmp_path / "b")
    held = load_file(tmp_path / "b" / "model.safetensors")
    name = "esm.contact_head.regression.weight"
    assert torch.equal(held[name], theirs.state_dict()[name])


@pytest.mark.skipif(not MAPS.exists(), reason="the system does not list the mapped files")
def test_a_loaded_model_maps_no_file_which_windows_would_not_let_us_replace(tmp_path: Path) -> None:
    reference(tmp_path / "a", "EsmForMaskedLM", "tiny")
    ours = from_pretrained(shutil.copytree(tmp_path / "a", tmp_path / "b"))
    assert ours.config and f"{tmp_path}/b/model" not in MAPS.read_text(encoding="utf-8")


@torch.no_grad()
def test_frequencies_of_old_files_are_used(tmp_path: Path) -> None:
    """They were stored in float16, once a layer, and the model was trained with those."""
    reference(tmp_path, "EsmForMaskedLM", "deep")
    path = tmp_path / "model.safetensors"
    tensors = {name: tensor.clone() for name, tensor in load_file(path).items()}
    name = next(name for name in tensors if name.endswith("inv_freq"))
    rounded = tensors.pop(name).half()
    layer = "esm.encoder.layer.{}.attention.self.rotary_embeddings.inv_freq"
    save_file(tensors | {layer.format(n): rounded.clone() for n in range(5)}, path)
    ours = from_pretrained(tmp_path)
    block: Any = ours.get_submodule("encoder.layers.3.self_attention_block")
    assert torch.equal(block.rotary.frequencies, rounded.float())
    # They recompute what does not have its new name; from the same numbers we agree.
    theirs = transformers.EsmForMaskedLM.from_pretrained(tmp_path).eval()
    theirs.esm.rotary_embeddings.inv_freq.copy_(rounded.float())
    ids = ragged(33, (60, 60), 1, low=4)
    assert furthest(ours.heads["masked_lm"](ours(ids)), theirs(ids).logits) <= CLOSE


@torch.no_grad()
def test_in_bfloat16_our_error_is_not_larger_than_theirs(tmp_path: Path) -> None:
    theirs = reference(tmp_path, "EsmForMaskedLM", "8M")
    ids = ragged(33, (65, 65), 1, low=4)
    truth = theirs.double()(ids).logits
    rounded = theirs.to(torch.bfloat16)(ids).logits
    ours = from_pretrained(tmp_path, dtype=torch.bfloat16)
    our_error = (ours.heads["masked_lm"](ours(ids)).double() - truth).square().mean().sqrt()
    their_error = (rounded.double() - truth).square().mean().sqrt()
    assert our_error <= 1.1 * their_error


@torch.no_grad()
def test_a_new_model_is_loaded_by_transformers(tmp_path: Path) -> None:
    sizes = EsmConfig(33, 40, 12, 2, 3, 28, heads=("token",), labels=4)
    ours = Esm.from_config(sizes).eval()
    save_pretrained(ours, tmp_path)
    theirs = transformers.EsmForTokenClassification.from_pretrained(tmp_path).eval()
    ids = ragged(33, (9, 9), 1, low=4)
    assert furthest(ours.heads["token"](ours(ids)), theirs(ids).logits) <= CLOSE
    again = from_pretrained(tmp_path)
    assert isinstance(again, Esm) and again.config == sizes


def test_saving_in_bfloat16_does_not_round_the_frequencies(tmp_path: Path) -> None:
    reference(tmp_path / "a", "EsmForMaskedLM", "deep")
    ours = from_pretrained(tmp_path / "a")
    save_pretrained(ours, tmp_path / "b", dtype=torch.bfloat16)
    name = "encoder.layers.0.self_attention_block.rotary.frequencies"
    assert torch.equal(from_pretrained(tmp_path / "b").get_buffer(name), ours.get_buffer(name))
