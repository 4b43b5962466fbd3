"""GPT-2: the numbers and the words of `transformers`, from its files, and its files again."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor

from clearhead.errors import UserError
from clearhead.models.gpt import Gpt, GptConfig
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

SIZES: dict[str, dict[str, Any]] = {
    "tiny": {"n_embd": 12, "n_layer": 1, "n_head": 3, "n_positions": 40, "vocab_size": 50},
    "deep": {"n_embd": 40, "n_layer": 5, "n_head": 4, "n_positions": 256, "vocab_size": 99,
             "n_inner": 56},
    "wide": {"n_embd": 192, "n_layer": 2, "n_head": 6, "n_positions": 400, "vocab_size": 1000,
             "layer_norm_epsilon": 1e-6},
}  # fmt: skip
SIGNS = {"bos_token_id": 2, "eos_token_id": 2}
PAD = 0  # of the batches here; the model has none


def reference(directory: Path, size: str, architecture: str = "GPT2LMHeadModel") -> Any:
    config = transformers.GPT2Config(**SIZES[size], **SIGNS)
    return saved(disturbed(getattr(transformers, architecture)(config)), directory)


@torch.no_grad()
def greedy(model: Gpt, ids: Tensor, count: int) -> Tensor:
    """The likeliest next token, again and again."""
    for _ in range(count):
        following = model.logits(model(ids)[:, -1:]).argmax(dim=-1)
        ids = torch.cat([ids, following], dim=1)
    return ids


@pytest.mark.parametrize("size", SIZES)
@torch.no_grad()
def test_every_layer_equals_theirs(tmp_path: Path, size: str) -> None:
    theirs = reference(tmp_path, size)
    ours = from_pretrained(tmp_path)
    assert isinstance(ours, Gpt)
    ids = ragged(theirs.config.vocab_size, (7, theirs.config.n_positions, 1, 19), PAD)
    real, mask = attention_mask(ids, PAD)
    answer = theirs(ids, attention_mask=real, output_hidden_states=True, output_attentions=True)
    logits = ours.logits(ours(ids, mask))
    assert furthest(logits, answer.logits, real.bool()) <= CLOSE
    assert torch.equal(logits.argmax(-1)[real.bool()], answer.logits.argmax(-1)[real.bool()])
    check_layers(ours, lambda: ours(ids, mask), answer, ("positions", "decoder"), real.bool())


@torch.no_grad()
def test_project_gives_their_log_probabilities(tmp_path: Path) -> None:
    theirs, ours = reference(tmp_path, "tiny"), from_pretrained(tmp_path)
    assert isinstance(ours, Gpt)
    ids = ragged(50, (9, 9), PAD)
    expected = theirs(ids).logits.log_softmax(dim=-1)
    assert furthest(ours.project(ours(ids)), expected) <= CLOSE


def test_two_hundred_greedy_tokens_equal_theirs(tmp_path: Path) -> None:
    theirs, ours = reference(tmp_path, "deep"), from_pretrained(tmp_path)
    assert isinstance(ours, Gpt)
    prompts = ragged(99, (11, 11, 11), PAD)
    expected = theirs.generate(
        prompts, attention_mask=torch.ones_like(prompts), max_new_tokens=200, min_new_tokens=200,
        do_sample=False, pad_token_id=PAD, eos_token_id=None,
    )  # fmt: skip
    written = greedy(ours, prompts, 200)
    assert torch.equal(written, expected)
    assert written.unique().numel() > 20  # not one word over and over


@torch.no_grad()
def test_the_model_is_causal(tmp_path: Path) -> None:
    reference(tmp_path, "deep")
    ours = from_pretrained(tmp_path)
    ids = ragged(99, (30,), PAD)
    other = ids.clone()
    other[0, 20:] = (other[0, 20:] + 1) % 99
    assert torch.equal(ours(ids)[0, :20], ours(other)[0, :20])


@torch.no_grad()
def test_the_label_of_each_token_equals_theirs(tmp_path: Path) -> None:
    config = transformers.GPT2Config(**SIZES["deep"], **SIGNS, num_labels=5)
    theirs = saved(disturbed(transformers.GPT2ForTokenClassification(config)), tmp_path)
    ours = from_pretrained(tmp_path)
    assert isinstance(ours, Gpt)
    ids = ragged(99, (9, 9), PAD)
    assert furthest(ours.heads["token"](ours(ids)), theirs(ids).logits) <= CLOSE


@pytest.mark.parametrize(
    "architecture", ["GPT2Model", "GPT2LMHeadModel", "GPT2ForTokenClassification"]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_transformers_loads_what_we_save_bit_identically(
    tmp_path: Path, architecture: str, dtype: torch.dtype
) -> None:
    config = transformers.GPT2Config(**SIZES["deep"], **SIGNS)
    theirs = saved(disturbed(getattr(transformers, architecture)(config)).to(dtype), tmp_path / "a")
    save_pretrained(from_pretrained(tmp_path / "a", dtype=None), tmp_path / "b")
    same_state(theirs, type(theirs).from_pretrained(tmp_path / "b", dtype="auto"))
    first, second = (load_file(tmp_path / name / "model.safetensors") for name in "ab")
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


@torch.no_grad()
def test_the_original_files_of_gpt2_load(tmp_path: Path) -> None:
    """They leave the prefix out, though the class has a head, and hold the look-ahead masks."""
    theirs = reference(tmp_path, "tiny")
    path = tmp_path / "model.safetensors"
    old = {name.removeprefix("transformer."): t.clone() for name, t in load_file(path).items()}
    old["h.0.attn.bias"] = torch.ones(40, 40).tril().view(1, 1, 40, 40)
    save_file(old, path)
    ours = from_pretrained(tmp_path)
    assert isinstance(ours, Gpt)
    ids = ragged(50, (9, 9), PAD)
    assert furthest(ours.logits(ours(ids)), theirs(ids).logits) <= CLOSE


@torch.no_grad()
def test_in_bfloat16_our_error_is_not_larger_than_theirs(tmp_path: Path) -> None:
    theirs = reference(tmp_path, "wide")
    ids = ragged(1000, (65, 65), PAD)
    truth = theirs.double()(ids).logits
    rounded = theirs.to(torch.bfloat16)(ids).logits
    ours = from_pretrained(tmp_path, dtype=torch.bfloat16)
    assert isinstance(ours, Gpt)
    our_error = (ours.logits(ours(ids)).double() - truth).square().mean().sqrt()
    their_error = (rounded.double() - truth).square().mean().sqrt()
    assert our_error <= 1.1 * their_error


@torch.no_grad()
def test_a_new_model_is_loaded_by_transformers(tmp_path: Path) -> None:
    sizes = GptConfig(50, 40, 12, 2, 3, 28, bos_id=1, eos_id=2)
    ours = Gpt.from_config(sizes).eval()
    save_pretrained(ours, tmp_path)
    theirs = transformers.GPT2LMHeadModel.from_pretrained(tmp_path).eval()
    ids = ragged(33, (9, 9), 1, low=4)
    assert furthest(ours.logits(ours(ids)), theirs(ids).logits) <= CLOSE
    again = from_pretrained(tmp_path)
    assert isinstance(again, Gpt) and again.config == sizes


def test_a_model_that_sees_later_tokens_is_refused(tmp_path: Path) -> None:
    config = transformers.GPT2Config(**SIZES["tiny"], **SIGNS, is_causal=False)
    transformers.GPT2LMHeadModel(config).save_pretrained(tmp_path)
    with pytest.raises(UserError, match="is_causal=False"):
        from_pretrained(tmp_path)


@torch.no_grad()
def test_a_size_under_its_other_name_is_read(tmp_path: Path) -> None:
    theirs = reference(tmp_path, "tiny")
    path = tmp_path / "config.json"
    renamed = path.read_text(encoding="utf-8").replace('"n_head"', '"num_attention_heads"')
    path.write_text(renamed, encoding="utf-8")
    ids = ragged(50, (9, 9), PAD)
    ours = from_pretrained(tmp_path)
    assert isinstance(ours, Gpt)
    assert furthest(ours.logits(ours(ids)), theirs(ids).logits) <= CLOSE
