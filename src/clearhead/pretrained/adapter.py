"""The weights that LoRA trained, as a small directory in the layout of the `peft` package.

adapter_config.json         rank, alpha, adapted projections
adapter_model.safetensors   A and B of each projection, and the heads
config.json                 that of the whole model, with its labels

The base model is not included, so that each further task costs only a few megabytes.
"""

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from clearhead.errors import UserError
from clearhead.files import atomic_write
from clearhead.models.adapting import PROJECTIONS, Adaptation, adapt, adapted_parts
from clearhead.models.weights import METADATA, read_tensors, storable, write_tensors
from clearhead.pretrained.family import Raw
from clearhead.pretrained.files import CONFIG
from clearhead.pretrained.loading import Pretrained, family_of_config
from clearhead.pretrained.new_heads import CLASSES, Answer, with_head
from clearhead.text.model_files import read_json

SETTINGS, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
TASKS = {"sequence": "SEQ_CLS", "token": "TOKEN_CLS"}
_PREFIX = "base_model.model."
_SIDES = {"down": "lora_A", "up": "lora_B"}


def save_adapter(model: nn.Module, how: Adaptation, directory: str | Path, base: str = "") -> None:
    """Write the trained weights of an adapted model: A and B of every projection, and its heads.

    `base` names the base model, for people and for `peft`.

    Raises:
        UserError: the family stores queries, keys and values in one matrix.
    """
    config: Any = model.config
    family = family_of_config(config)
    origin = getattr(model, "origin", None)
    raw = family.write(config, origin and origin.config)
    names, own = names_of_trained(model), dict(model.named_parameters())
    prefix = family.table(config).prefix
    kept = {
        theirs.removeprefix(_PREFIX).removeprefix(prefix).split(".")[0]
        for theirs, ours in names.items()
        if ours.startswith("heads.")
    }
    settings = {
        "peft_type": "LORA",
        "task_type": TASKS[answer_of(raw)],
        "base_model_name_or_path": base,
        "r": how.rank,
        "lora_alpha": how.alpha,
        "lora_dropout": how.dropout,
        "target_modules": [_modules(model)[word] for word in how.projections],
        "modules_to_save": sorted(kept),
        "bias": "none",
        "fan_in_fan_out": False,
        "inference_mode": True,
    }
    directory = Path(directory)
    tensors = {theirs: storable(ours, own[ours], torch.float32) for theirs, ours in names.items()}
    write_tensors(directory / WEIGHTS, tensors, METADATA)
    for name, values in ((SETTINGS, settings), (CONFIG, raw)):
        atomic_write(directory / name, json.dumps(values, indent=2, ensure_ascii=False) + "\n")


def load_adapter(base: nn.Module, directory: str | Path) -> tuple[Pretrained, Adaptation]:
    """The base model with an adapter's head and low-rank matrices, which `merge` can merge.

    Raises:
        UserError: the directory holds no adapter of ours, or one of another base model.
    """
    directory = Path(directory)
    settings, raw = read_json(directory / SETTINGS), read_json(directory / CONFIG)
    try:
        labels = [raw["id2label"][str(number)] for number in range(len(raw["id2label"]))]
        wanted = set(settings["target_modules"])
        rank, alpha, dropout = (settings[key] for key in ("r", "lora_alpha", "lora_dropout"))
    except (KeyError, TypeError) as error:
        raise UserError(
            f"{directory} is not an adapter written by clearhead (it lacks {error}); give a "
            "directory of a run with tune.method=lora"
        ) from error
    model = with_head(base, answer_of(raw), labels)
    chosen = tuple(word for word in PROJECTIONS if _modules(model).get(word) in wanted)
    how = Adaptation(rank, alpha, dropout, chosen)
    _fill(adapt(model, how), read_tensors(directory / WEIGHTS), str(directory))
    return model, how


def names_of_trained(model: nn.Module) -> dict[str, str]:
    """The name of each trained tensor in `peft`, with ours.

    Raises:
        UserError: the family stores queries, keys and values in one matrix.
    """
    config: Any = model.config
    table, names = family_of_config(config).table(config), {}
    for path, _ in adapted_parts(model):
        rows = table.entries([f"{path}.weight"])
        if [row.ours for row in rows] != [(f"{path}.weight",)]:
            raise UserError(
                f"the files of a {type(model).__name__} have no separate matrix for {path}, so it "
                "cannot be saved as an adapter; save the merged model"
            )
        for ours, theirs in _SIDES.items():
            side = f"{rows[0].theirs.removesuffix('weight')}{theirs}.weight"
            names[_PREFIX + side] = f"{path}.{ours}.weight"
    heads = [name for name, _ in model.named_parameters() if name.startswith("heads.")]
    return names | {_PREFIX + row.theirs: row.ours[0] for row in table.entries(heads)}


def answer_of(raw: Raw) -> Answer:
    """The head of a config.json's class: `sequence` or `token`."""
    name = (raw.get("architectures") or [""])[0]
    for answer, ending in CLASSES.items():
        if name.endswith(ending):
            return answer
    raise UserError(f"{name or 'a model without a class'} is no classifier, so it has no adapter")


def _modules(model: nn.Module) -> dict[str, str]:
    """The name of each projection within one of their layers."""
    config: Any = model.config
    return {
        word: row.theirs.split("{n}.")[1].removesuffix(".weight")
        for row in family_of_config(config).table(config).rows
        for word in PROJECTIONS
        if row.ours[0].endswith(f"self_attention_block.{word}.weight")
    }


def _fill(model: nn.Module, tensors: dict[str, Tensor], origin: str) -> None:
    """Copy every trained tensor from the file; names and shapes must agree."""
    own, names = dict(model.named_parameters()), names_of_trained(model)
    for name in sorted(names.keys() ^ tensors.keys()):
        kind = "lacks" if name in names else "holds, beyond what its settings say,"
        raise UserError(f"{origin} {kind} {name}; its files belong to different adapters")
    for theirs, ours in names.items():
        if tensors[theirs].shape != own[ours].shape:
            raise UserError(
                f"{origin}: {theirs} has shape {tuple(tensors[theirs].shape)} where this base has "
                f"{tuple(own[ours].shape)}; give the base that the adapter was made on"
            )
    with torch.no_grad():
        for theirs, ours in names.items():
            own[ours].copy_(tensors[theirs])
