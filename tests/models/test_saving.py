"""What is saved comes back, once, in the Hugging Face layout; a failed save harms nothing."""

import errno
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import safetensors
import torch
from safetensors.torch import load_file
from torch import nn

from clearhead.blocks import (
    ACTIVATIONS,
    READABLE,
    ActivatedFeedForwardBlock,
    FeedForwardBlock,
    LearnedPositions,
    Parts,
)
from clearhead.errors import UserError
from clearhead.fast.accelerate import LEAF_OPERATIONS, accelerate
from clearhead.models import Transformer, TransformerConfig, weights
from clearhead.models.adapting import Adaptation, adapt, merge
from clearhead.training.trainer import checkpoint_layers


def small(tie: bool = True, norm: str = "pre") -> Transformer:
    return Transformer.from_config(
        TransformerConfig(20, 20, 9, 8, 12, 2, 1, h=3, d_ff=7, norm=norm, tie_embeddings=tie)
    )


def state(model: Transformer) -> dict[str, torch.Tensor]:
    return {name: p.detach() for name, p in model.named_parameters()}


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def log_probabilities(model: Transformer) -> torch.Tensor:
    with torch.inference_mode():
        return model.eval()(torch.tensor([[3, 4, 2]]), torch.tensor([[1, 5]]), None, None)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("tie", [True, False], ids=["tied", "untied"])
def test_float32_comes_back_to_the_bit(tie: bool, norm: str, tmp_path: Path) -> None:
    model = small(tie, norm)
    model.save_pretrained(tmp_path)
    loaded = Transformer.from_pretrained(tmp_path)
    assert loaded.config == model.config and not loaded.training
    assert state(loaded).keys() == state(model).keys()
    for name, tensor in state(model).items():
        assert torch.equal(state(loaded)[name], tensor), name
    assert torch.equal(log_probabilities(loaded), log_probabilities(model))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_16_bits_come_back_rounded_once(dtype: torch.dtype, tmp_path: Path) -> None:
    model = small()
    model.save_pretrained(tmp_path, dtype)
    assert {t.dtype for t in load_file(tmp_path / "model.safetensors").values()} == {dtype}
    loaded = Transformer.from_pretrained(tmp_path)
    for name, tensor in state(model).items():
        assert state(loaded)[name].dtype == torch.float32
        assert torch.equal(state(loaded)[name], tensor.to(dtype).float()), name


def test_a_shared_matrix_is_stored_once_and_shared_again(tmp_path: Path) -> None:
    small(tie=True).save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    assert [name for name, t in tensors.items() if t.shape == (20, 12)] == [
        "src_embed.embedding.weight"
    ]
    loaded = Transformer.from_pretrained(tmp_path)
    assert loaded.projection_layer.proj.weight is loaded.src_embed.embedding.weight
    assert loaded.tgt_embed.embedding.weight is loaded.src_embed.embedding.weight


def test_matrices_that_share_only_their_memory_are_stored_each(tmp_path: Path) -> None:
    model = small(tie=False)
    model.projection_layer.proj.weight.data = model.tgt_embed.embedding.weight.data
    model.save_pretrained(tmp_path)
    loaded = Transformer.from_pretrained(tmp_path)
    assert torch.equal(loaded.projection_layer.proj.weight, model.tgt_embed.embedding.weight)
    assert torch.equal(log_probabilities(loaded), log_probabilities(model))


def test_the_files_are_the_hugging_face_layout(tmp_path: Path) -> None:
    small().save_pretrained(tmp_path / "new" / "directory")
    assert sorted(contents(tmp_path / "new" / "directory")) == ["config.json", "model.safetensors"]
    with safetensors.safe_open(
        tmp_path / "new" / "directory" / "model.safetensors", framework="pt"
    ) as file:
        assert file.metadata().keys() == {"format", "crc32"}
        assert file.metadata()["format"] == "pt"


def test_saving_twice_writes_the_same_bytes(tmp_path: Path) -> None:
    model = small()
    model.save_pretrained(tmp_path / "a")
    model.save_pretrained(tmp_path / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_loading_draws_no_random_number(tmp_path: Path) -> None:
    small().save_pretrained(tmp_path)
    before = torch.get_rng_state()
    Transformer.from_pretrained(tmp_path)
    assert torch.equal(torch.get_rng_state(), before)


def test_a_learners_part_is_loaded_into(tmp_path: Path) -> None:
    class Mine(FeedForwardBlock):
        pass

    model = small()
    model.save_pretrained(tmp_path)
    loaded = Transformer.from_pretrained(tmp_path, replace(READABLE, feed_forward=Mine))
    assert torch.equal(log_probabilities(loaded), log_probabilities(model))


class BatchNorm(nn.Module):
    """A norm that keeps running statistics, in buffers."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normalized: torch.Tensor = self.norm(x.transpose(1, 2)).transpose(1, 2)
        return normalized


def test_the_running_statistics_of_a_learners_part_come_back(tmp_path: Path) -> None:
    parts = replace(READABLE, normalization=BatchNorm)
    model = Transformer.from_config(small().config, parts)
    model(torch.randint(3, 20, (5, 7)), torch.randint(3, 20, (5, 6)))
    model.save_pretrained(tmp_path)
    loaded = Transformer.from_pretrained(tmp_path, parts)
    assert torch.equal(log_probabilities(loaded), log_probabilities(model))


def with_gelu(d_model: int, d_ff: int, dropout: float) -> ActivatedFeedForwardBlock:
    return ActivatedFeedForwardBlock(d_model, d_ff, dropout, ACTIVATIONS["gelu"])


def test_saving_a_model_with_other_parts_warns_once_that_they_are_needed_to_load_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    parts = replace(READABLE, feed_forward=with_gelu)
    model = Transformer.from_config(small().config, parts)
    small().save_pretrained(tmp_path)
    assert not caplog.messages
    for _ in range(2):
        model.save_pretrained(tmp_path)
    (message,) = caplog.messages
    assert message.startswith("encoder.layers.0.feed_forward_block is a ActivatedFeedForwardBlock")
    assert "from_pretrained(directory, parts)" in message
    loaded = Transformer.from_pretrained(tmp_path, parts)
    assert torch.equal(log_probabilities(loaded), log_probabilities(model))


def test_what_training_changes_in_a_model_is_saved_without_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = accelerate(small(), LEAF_OPERATIONS)
    checkpoint_layers(model.encoder, model.decoder)
    before = torch.get_rng_state()
    model.save_pretrained(tmp_path)
    assert not caplog.messages and torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("poison", [float("nan"), float("inf")])
def test_a_model_with_a_nan_is_not_saved(poison: float, tmp_path: Path) -> None:
    model = small()
    model.save_pretrained(tmp_path)
    before = contents(tmp_path)
    with torch.no_grad():
        model.encoder.layers[0].feed_forward_block.linear_1.weight[0, 0] = poison
    with pytest.raises(UserError, match=r"linear_1\.weight holds NaN or infinity as float32"):
        model.save_pretrained(tmp_path)
    assert contents(tmp_path) == before


def test_a_number_too_large_for_16_bits_is_not_saved_as_infinity(tmp_path: Path) -> None:
    model = small()
    with torch.no_grad():
        model.projection_layer.proj.bias[0] = 1e6
    with pytest.raises(UserError, match=r"proj\.bias holds NaN or infinity as float16"):
        model.save_pretrained(tmp_path, torch.float16)
    model.save_pretrained(tmp_path, torch.bfloat16)


def full_disk(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def full_disk_in_safetensors(*_: object, **__: object) -> None:
    raise safetensors.SafetensorError("I/O error: No space left on device (os error 28)")


@pytest.mark.parametrize(
    ("where", "name", "failure"),
    [
        (os, "fsync", full_disk),
        (os, "replace", full_disk),
        (weights, "save_file", full_disk),
        (weights, "save_file", full_disk_in_safetensors),
    ],
    ids=["flush", "rename", "write", "safetensors' own error"],
)
def test_a_save_on_a_full_disk_leaves_what_was_there(
    where: object, name: str, failure: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small().save_pretrained(tmp_path)
    before = contents(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(where, name, failure)
        with pytest.raises(UserError) as caught:
            small().save_pretrained(tmp_path)
    message = str(caught.value)
    assert "No space left" in message and "model.safetensors" in message and "\n" not in message
    assert contents(tmp_path) == before  # and no temporary file is left behind


def test_a_target_that_is_no_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("a file", encoding="utf-8")
    with pytest.raises(UserError, match=r"cannot write .*model"):
        small().save_pretrained(tmp_path / "model")
    assert (tmp_path / "model").read_text(encoding="utf-8") == "a file"


def test_a_hand_made_transformer_says_that_it_has_no_sizes(tmp_path: Path) -> None:
    model = small()
    by_hand = Transformer(
        model.encoder, model.decoder, model.src_embed, model.tgt_embed,
        model.src_pos, model.tgt_pos, model.projection_layer,
    )  # fmt: skip
    with pytest.raises(UserError, match="build_transformer"):
        by_hand.save_pretrained(tmp_path)


def test_config_json_tells_what_the_file_is(tmp_path: Path) -> None:
    small().save_pretrained(tmp_path)
    values = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))
    assert values["d_model"] == 12 and values["encoder_layers"] == 2


def tie_by_hand(model: Transformer) -> None:
    model.projection_layer.proj.weight = model.tgt_embed.embedding.weight


def prune(model: Transformer) -> None:
    model.encoder.layers = model.encoder.layers[:1]


def widen(model: Transformer) -> None:
    for layer in (*model.encoder.layers, *model.decoder.layers):
        layer.feed_forward_block.linear_1 = nn.Linear(12, 9)
        layer.feed_forward_block.linear_2 = nn.Linear(9, 12)


CHANGES: dict[str, tuple[Callable[[Any], object], str]] = {
    "adapted": (lambda m: adapt(m, Adaptation(rank=2)), r"merge\(model\) first"),
    "tied by hand": (tie_by_hand, r"projection_layer\.proj\.weight is .* tie_embeddings=True"),
    "pruned": (prune, r"missing encoder\.layers\.1\..*dataclasses\.replace\(model\.config, "),
    "another module": (
        lambda m: setattr(m, "extra", nn.Linear(2, 2)),
        r"unexpected extra\.bias, extra\.weight",
    ),
    "wider": (widen, r"linear_1\.weight has shape \(9, 12\), config\.json says \(7, 12\)"),
    "more tokens": (
        lambda m: setattr(m.src_embed, "embedding", nn.Embedding(25, 12)),
        r"embedding\.weight has shape \(25, 12\), config\.json says \(20, 12\)",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_model_that_its_configuration_does_not_describe_is_not_saved(
    change: str, tmp_path: Path
) -> None:
    model = small(tie=False)
    model.save_pretrained(tmp_path)
    before = contents(tmp_path)
    CHANGES[change][0](model)
    with pytest.raises(UserError, match=CHANGES[change][1]) as caught:
        model.save_pretrained(tmp_path)
    assert "\n" not in str(caught.value)
    assert contents(tmp_path) == before


def test_what_the_message_says_makes_the_model_loadable(tmp_path: Path) -> None:
    for name, repair in {
        "adapted": merge,
        "tied by hand": lambda m: setattr(
            m.projection_layer.proj,
            "weight",
            nn.Parameter(m.tgt_embed.embedding.weight.detach().clone()),
        ),
        "pruned": lambda m: setattr(m, "config", replace(m.config, encoder_layers=1)),
        "wider": lambda m: setattr(m, "config", replace(m.config, d_ff=9)),
        "more tokens": lambda m: setattr(m, "config", replace(m.config, src_vocab_size=25)),
    }.items():
        model = small(tie=False)
        CHANGES[name][0](model)
        repair(model)
        model.save_pretrained(tmp_path / name)
        loaded = Transformer.from_pretrained(tmp_path / name)
        assert torch.equal(log_probabilities(loaded), log_probabilities(model)), name


class Gated(FeedForwardBlock):
    def __init__(self, d_model: int, d_ff: int, dropout: float) -> None:
        super().__init__(d_model, d_ff, dropout)
        self.gate = nn.Linear(d_model, d_ff)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear_2(self.gate(x) * self.linear_1(x))


OTHER_PARTS = {
    "gated": replace(READABLE, feed_forward=Gated),
    "learned positions": replace(READABLE, positions=LearnedPositions),
    "without parameters": replace(READABLE, normalization=lambda _: nn.Identity()),
    "of torch's modules": replace(
        READABLE,
        feed_forward=lambda d, f, p: nn.Sequential(nn.Linear(d, f), nn.ReLU(), nn.Linear(f, d)),
    ),
}


@pytest.mark.parametrize("parts", OTHER_PARTS.values(), ids=OTHER_PARTS)
def test_a_model_of_other_parts_comes_back(parts: Parts, tmp_path: Path) -> None:
    model = Transformer.from_config(small().config, parts)
    model.save_pretrained(tmp_path)
    loaded = Transformer.from_pretrained(tmp_path, parts)
    assert torch.equal(log_probabilities(loaded), log_probabilities(model))


def test_saving_draws_no_random_number(tmp_path: Path) -> None:
    model = small()
    before = torch.get_rng_state()
    model.save_pretrained(tmp_path)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("dtype", [torch.int8, torch.bool, torch.complex64, "float16", 16], ids=str)
def test_weights_are_saved_as_floats_only(dtype: Any, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"weights are saved as floats; give torch\.float32") as e:
        small().save_pretrained(tmp_path, dtype)
    assert "\n" not in str(e.value) and not contents(tmp_path)
