"""A pretrained stack with a new classifier, as fine-tuning needs it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn

from clearhead.errors import UserError
from clearhead.pretrained.family import Family
from clearhead.pretrained.loading import FAMILIES, Origin, Pretrained, family_of_config, own_tensors

Answer = Literal["sequence", "token"]
CLASSES: dict[Answer, str] = {
    "sequence": "ForSequenceClassification",
    "token": "ForTokenClassification",
}


def with_head(model: nn.Module, answer: Answer, labels: Sequence[str]) -> Pretrained:
    """A model with the same stack and a classifier for these labels.

    A pooler is kept; a classifier is kept if it has the same labels in the same order, otherwise
    it is initialized randomly. `save_pretrained` writes the names of the labels, and
    `transformers` loads the directory as its own class.

    Raises:
        UserError: there are fewer than two labels, one occurs twice, or the family has no such
            class.
    """
    _check(labels)
    family = family_of_config(model.config)
    architecture = _architecture(family, answer)
    config: Any = replace(
        cast(Any, model.config), heads=family.architectures[architecture], labels=len(labels)
    )
    new = type(model).from_config(config)  # type: ignore[attr-defined]
    known = label_names(model) == list(labels)
    with torch.no_grad():
        for name, tensor in own_tensors(new).items():
            old = own_tensors(model).get(name)
            if old is not None and (known or not _is_classifier(name)):
                tensor.copy_(old)
    before = getattr(model, "origin", None) or Origin(family.write(config, None), set(), {})
    new.__dict__["origin"] = _origin(before, family.table(config).prefix, architecture, labels)
    return cast(Pretrained, new.eval())


def label_names(model: nn.Module) -> list[str]:
    """The labels of a model's classifier; empty if its files do not name them."""
    origin = getattr(model, "origin", None)
    names: Mapping[Any, str] = (origin.config.get("id2label") if origin else None) or {}
    return [names[number] for number in sorted(names, key=int)]


def _check(labels: Sequence[str]) -> None:
    if len(set(labels)) != len(labels):
        twice = next(label for label in labels if list(labels).count(label) > 1)
        raise UserError(f"the label {twice!r} is given twice; give each once")
    if len(labels) < 2:
        raise UserError(
            f"{len(labels)} label{'' if len(labels) == 1 else 's'} ({', '.join(labels)}): "
            "there is nothing to classify; give data with two or more"
        )


def _architecture(family: Family, answer: Answer) -> str:
    fitting = [name for name in family.architectures if name.endswith(CLASSES[answer])]
    if not fitting:
        able = [
            kind
            for kind, other in FAMILIES.items()
            if any(name.endswith(CLASSES[answer]) for name in other.architectures)
        ]
        raise UserError(
            f"clearhead has no {CLASSES[answer][3:]} head for a {family.model_type} model; "
            f"give one of {', '.join(able)}"
        )
    return fitting[0]


def _is_classifier(name: str) -> bool:
    return name.startswith(("heads.sequence.", "heads.token."))


def _origin(before: Origin, prefix: str, architecture: str, labels: Sequence[str]) -> Origin:
    """The new content of config.json, and the tensors that we do not use."""
    config = dict(before.config) | {
        "architectures": [architecture],
        "id2label": {str(number): label for number, label in enumerate(labels)},
        "label2id": {label: number for number, label in enumerate(labels)},
    }
    config.pop("problem_type", None)  # of the previous labels
    carried: dict[str, Tensor] = {
        name if name.startswith(prefix) else prefix + name: tensor
        for name, tensor in before.carried.items()
    }
    return Origin(config, before.formulas, carried)
