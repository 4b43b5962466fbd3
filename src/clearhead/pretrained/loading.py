"""Loading of a pretrained model and its tokenizer, strict in the names and shapes of tensors.

`FAMILIES` lists the supported families, by the `model_type` of their config.json.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from clearhead.errors import DIFFERENT_MODELS, UserError
from clearhead.models import Bert, Esm, Gpt, Marian
from clearhead.models.config import check_file_size
from clearhead.models.weight_files import refuse_pickles
from clearhead.models.weights import refuse_damaged_values
from clearhead.pretrained.bert import BERT, ESM
from clearhead.pretrained.family import Family, Raw
from clearhead.pretrained.files import CONFIG, directory_of, read_weights
from clearhead.pretrained.gpt import GPT
from clearhead.pretrained.marian import MARIAN, log_search_settings
from clearhead.pretrained.table import Row, Table
from clearhead.text import PretrainedTokenizer, load_tokenizer
from clearhead.text.model_files import COMMANDS, read_json

Pretrained = Bert | Gpt | Esm | Marian
FAMILIES: dict[str, Family] = {family.model_type: family for family in (BERT, GPT, ESM, MARIAN)}


def family_of(raw: Raw, origin: str) -> Family:
    """The family of a config.json.

    Raises:
        UserError: it is not supported.
    """
    kind = str(raw.get("model_type"))
    if kind not in FAMILIES:
        classes = raw.get("architectures") or []
        named = f" ({', '.join(map(str, classes))})" if classes else ""
        advice = f"supported are {', '.join(FAMILIES)}: give one of these"
        if kind in COMMANDS:
            advice = f"use {COMMANDS[kind]} with it (Translator.from_pretrained loads translators)"
        raise UserError(f"{origin} describes a {kind!r} model{named}; {advice}")
    return FAMILIES[kind]


def family_of_config(config: object) -> Family:
    """The family of one of our configurations.

    Raises:
        UserError: it has no Hugging Face layout.
    """
    for family in FAMILIES.values():
        if type(config) is family.config:
            return family
    raise UserError(
        f"a model with a {type(config).__name__} has no Hugging Face layout here; give one of "
        f"{', '.join(FAMILIES)}, or save a translator with its own method save_pretrained"
    )


# An embedding matrix may have additional rows, for sizes that are efficient on GPUs.
SPARE_ROWS = 1000


@dataclass(frozen=True)
class Origin:
    """What a model keeps of its files, so that parts that we do not use are saved unchanged."""

    config: Mapping[str, Any]
    formulas: Collection[str]
    carried: Mapping[str, Tensor]


def from_pretrained(source: str | Path, dtype: torch.dtype | None = torch.float32) -> Pretrained:
    """A `Bert`, `Gpt`, `Esm` or `Marian` from a directory in the Hugging Face layout.

    `source` is the directory, or a name on the hub, which is downloaded once and cached. Weights
    are converted to `dtype`; None keeps the stored one. The model is in eval mode.

    Raises:
        UserError: there is no such directory, the architecture is not supported, or files are
            missing, damaged or of different models. Nothing is loaded partially.
    """
    directory = directory_of(source)
    raw = read_json(directory / CONFIG)
    family = family_of(raw, str(directory / CONFIG))
    return model_of(family, raw, read_weights(directory), str(directory), dtype)


def load(
    source: str | Path, dtype: torch.dtype | None = torch.float32
) -> tuple[Pretrained, PretrainedTokenizer]:
    """`from_pretrained`, with the tokenizer from the same directory.

    Raises:
        UserError: as `from_pretrained` and `load_tokenizer`, or the two do not match.
    """
    directory = directory_of(source)
    refuse_pickles(directory)
    tokenizer = load_tokenizer(directory)
    model = from_pretrained(directory, dtype)
    check_together(model, tokenizer, str(directory))
    if isinstance(model, Marian):
        log_search_settings(directory)
    return model, tokenizer


def check_together(model: nn.Module, tokenizer: PretrainedTokenizer, origin: str) -> None:
    """Refuse a tokenizer whose vocabulary size or special tokens are not the model's."""
    config: Any = model.config
    rows = getattr(config, "vocab_size", None) or config.src_vocab_size
    if not 0 <= rows - tokenizer.vocab_size <= SPARE_ROWS:
        raise UserError(
            f"the tokenizer in {origin} has {tokenizer.vocab_size} tokens and the model {rows}; "
            "give the tokenizer that the model was trained with"
        )
    for role, token_id in tokenizer.special_ids.items():
        expected = getattr(config, f"{role}_id", None)
        if expected is not None and expected != token_id:
            raise UserError(
                f"the {role} token of the tokenizer in {origin} is {tokenizer.piece(token_id)!r}, "
                f"id {token_id}, but the model has {role}_id={expected}; give the tokenizer that "
                "the model was trained with"
            )


def model_of(
    family: Family,
    raw: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
    origin: str,
    dtype: torch.dtype | None,
) -> Pretrained:
    """A model with these tensors; see `from_pretrained`."""
    try:
        config = family.read(raw, lambda mark: any(name.endswith(mark) for name in tensors))
        check_file_size(config, sum(t.nbytes for t in tensors.values()), origin)
        with torch.random.fork_rng(devices=[]):  # the initial weights are overwritten
            model = family.build(config)
    except UserError as error:
        raise UserError(f"{origin}: {error}") from error
    fitted = fit(family.table(config), model, tensors, origin)
    refuse_damaged_values(fitted.weights, origin)
    own = own_tensors(model)
    for name, tensor in fitted.weights.items():
        # Assigned to the existing parameter, so that tied weights stay tied.
        own[name].data = tensor.to(dtype or tensor.dtype)
    for name, tensor in fitted.formulas.items():  # angles would lose precision in fewer bits
        own[name].data = tensor if dtype is None else tensor.to(own[name].dtype)
    model.__dict__["origin"] = Origin(raw, set(fitted.formulas), fitted.carried)
    return cast(Pretrained, model.eval())


def own_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Every parameter and buffer of a model; a tied one once, under its first name."""
    return dict(model.named_parameters()) | dict(model.named_buffers())


@dataclass(frozen=True)
class Fitted:
    """A file's tensors: weights and formulas under our names, the others unchanged."""

    weights: dict[str, Tensor]
    formulas: dict[str, Tensor]
    carried: dict[str, Tensor]


def fit(table: Table, model: nn.Module, tensors: Mapping[str, Tensor], origin: str) -> Fitted:
    """Translate a file's tensors into our names and shapes.

    Raises:
        UserError: tensors are missing, unexpected or of another shape (all by name, with
            both shapes), or copies of a tied tensor differ.
    """
    own = own_tensors(model)
    names = {row: table.found_under(row, tensors) for row in table.entries(own)}
    given = {row: _only(tensors, found, origin) for row, found in names.items() if found}
    wanted = {row: row.form.together([own[name] for name in row.ours]) for row in names}
    left = tensors.keys() - {name for found in names.values() for name in found}
    faults = {
        "missing": [
            f"{row.theirs} {_shape(tensor)}"
            for row, tensor in wanted.items()
            if row not in given and not row.formula
        ]
        + without_row(table, model),
        "unexpected": [
            f"{name} {_shape(tensors[name])}"
            for name in sorted(left)
            if not table.lists(name, table.carried + table.dropped)
        ],
        "of another shape": [
            f"{names[row][0]} {_shape(tensor)} where {_shape(wanted[row])} fits"
            for row, tensor in given.items()
            if tensor.shape != wanted[row].shape
        ],
    }
    _refuse(faults, origin)
    # Copies, since a tensor of the file maps it, and Windows does not replace a mapped file.
    kept = [name for name in sorted(left) if table.lists(name, table.carried)]
    carried = {name: tensors[name].clone() for name in kept}
    return Fitted(_under_our_names(given, False), _under_our_names(given, True), carried)


def without_row(table: Table, model: nn.Module) -> list[str]:
    """The parameters for which the family's files have no tensor, with their shapes."""
    own = dict(model.named_parameters())
    known = {name for row in table.entries(own) for name in row.ours}
    return [f"{name} {_shape(tensor)}" for name, tensor in own.items() if name not in known]


def _under_our_names(given: Mapping[Row, Tensor], formula: bool) -> dict[str, Tensor]:
    """Copies, since parts of a stacked tensor would share its memory."""
    return {
        name: part.clone(memory_format=torch.contiguous_format)
        for row, tensor in given.items()
        if row.formula is formula
        for name, part in zip(row.ours, row.form.apart(tensor, len(row.ours)), strict=True)
    }


def _only(tensors: Mapping[str, Tensor], names: list[str], origin: str) -> Tensor:
    """The tensor that all of these names contain."""
    first, *others = names
    for name in others:
        if not torch.equal(tensors[first], tensors[name]):
            raise UserError(
                f"{origin}: {first} and {name} differ, but this model has one matrix for both; "
                "give a model that ties them"
            )
    return tensors[first]


def _refuse(faults: Mapping[str, list[str]], origin: str) -> None:
    found = [f"{fault}: {_some(names)}" for fault, names in faults.items() if names]
    if found:
        raise UserError(
            f"{origin} does not fit its config.json; {'; '.join(found)}; {DIFFERENT_MODELS}"
        )


def _shape(tensor: Tensor) -> str:
    return str(tuple(tensor.shape))


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return ", ".join(names[:4]) + more
