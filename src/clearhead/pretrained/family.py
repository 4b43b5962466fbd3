"""A family of models: the translation of its config.json, and its table of names."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field
from typing import Any

from torch import nn

from clearhead.errors import UserError
from clearhead.pretrained.table import Table

Raw = Mapping[str, Any]


@dataclass(frozen=True)
class Family:
    """How a family's files are read and written.

    `fields` maps our hyperparameters to keys of config.json, `fixed` lists the values that our
    formulas require, `absent` their defaults where ours differ, `architectures` the heads of each
    of their classes, `heads` for each optional head a tensor whose presence shows that a file
    contains it, `aliases` other names of keys, which `transformers` accepts as well.
    """

    model_type: str
    config: type[Any]
    build: Callable[[Any], nn.Module]
    fields: dict[str, str]
    fixed: dict[str, tuple[Any, ...]]
    absent: dict[str, Any]
    architectures: dict[str, tuple[str, ...]]
    heads: dict[str, str]
    table: Callable[[Any], Table]
    aliases: dict[str, str] = field(default_factory=dict)

    @property
    def bare(self) -> str:
        """The class without a head, whose files have no prefix."""
        return next(iter(self.architectures))

    def read(self, raw: Raw, held: Callable[[str], bool]) -> Any:
        """Our configuration; `held` tests whether the file has a tensor.

        Raises:
            UserError: the model differs from ours, or a size is invalid.
        """
        raw = self.absent | self.named(raw)
        self._check_fixed(raw)
        # Without a class, or for the class without a task, the tensors decide:
        # `BertModel(add_pooling_layer=False)` has no pooler.
        name = self.architecture(raw)
        promised = () if name == self.bare else self.architectures[name]
        given = {
            ours: raw[key]
            for ours, key in self.fields.items()
            if key in raw and (raw[key] is not None or ours.endswith("_id"))
        }
        values = {ours: self._whole(ours, value) for ours, value in given.items()}
        if "heads" in self.config.__dataclass_fields__:
            present = [head for head, mark in self.heads.items() if held(mark)]
            values["heads"] = tuple(dict.fromkeys([*promised, *present]))
        values |= self.counted(raw)
        for name, own in self.config.__dataclass_fields__.items():
            if name not in values and own.default is MISSING:
                raise UserError(f"{self.fields[name]} is missing; copy the model again")
        return self.config(**values)

    def named(self, raw: Raw) -> dict[str, Any]:
        """A config.json with the usual names of its keys.

        Raises:
            UserError: a key has another value under another name.
        """
        given = {alias: raw[alias] for alias in self.aliases if raw.get(alias) is not None}
        for alias, value in given.items():
            key = self.aliases[alias]
            if raw.get(key, value) != value:
                raise UserError(
                    f"this {self.model_type} model has {key}={raw[key]!r} and {alias}={value!r}, "
                    "two names of one size; copy the model again"
                )
        return {self.aliases[alias]: value for alias, value in given.items()} | dict(raw)

    def _whole(self, ours: str, value: Any) -> Any:
        """Integers may be written as floats: 10000.0."""
        whole = self.config.__dataclass_fields__[ours].type is int
        return int(value) if whole and isinstance(value, float) and value.is_integer() else value

    def counted(self, raw: Raw) -> dict[str, Any]:
        """Sizes that follow from other keys."""
        return {"labels": len(raw["id2label"])} if raw.get("id2label") else {}

    def write(self, config: Any, origin: Raw | None) -> dict[str, Any]:
        """Their config.json; valid content of `origin`, the loaded file, is kept."""
        raw = dict(origin or self._skeleton(config))
        if not raw.get("architectures") and not self._is_bare(config):
            raw["architectures"] = self._skeleton(config)["architectures"]
        for ours, key in self.fields.items():
            value = getattr(config, ours)
            field = self.config.__dataclass_fields__[ours]
            if field.type is float:
                value = float(value)  # theirs is strict: 0 is not a float there
            if value is None and key not in raw and field.default is None:
                continue  # a missing key is read as None
            if raw.get(key, ...) != value:
                raw[key] = value
        labels = getattr(config, "labels", 2)
        if labels != len(raw.get("id2label") or "01"):
            raw["id2label"] = {str(i): f"LABEL_{i}" for i in range(labels)}
            raw["label2id"] = {f"LABEL_{i}": i for i in range(labels)}
        return raw

    def _is_bare(self, config: Any) -> bool:
        """Whether the model has no heads beyond those of the class without a task."""
        return set(getattr(config, "heads", ())) <= set(self.architectures[self.bare])

    def architecture(self, raw: Raw) -> str:
        """The class named in a config.json; by default the one without a head.

        Raises:
            UserError: it is not supported.
        """
        name = (raw.get("architectures") or [self.bare])[0]
        if name not in self.architectures:
            raise UserError(
                f"the {self.model_type} architecture {name!r} is not supported, only "
                f"{', '.join(self.architectures)}; give a model of one of these"
            )
        return str(name)

    def _skeleton(self, config: Any) -> dict[str, Any]:
        """The content of a new config.json except the sizes."""
        wanted = set(getattr(config, "heads", ()))
        # A file may contain optional heads that its class does not have.
        fitting = [
            name
            for name, heads in self.architectures.items()
            if (name == self.bare or set(heads) <= wanted) and wanted <= {*heads, *self.heads}
        ]
        if not fitting:
            raise UserError(
                f"no {self.model_type} architecture has the heads {', '.join(sorted(wanted))}; "
                f"choose those of one of {', '.join(self.architectures)}"
            )
        fixed = {key: values[0] for key, values in self.fixed.items() if values[0] is not None}
        name = max(reversed(fitting), key=lambda name: len(self.architectures[name]))
        return {"architectures": [name], "model_type": self.model_type} | fixed

    def _check_fixed(self, raw: Raw) -> None:
        for key, allowed in self.fixed.items():
            if key in raw and raw[key] not in allowed:
                raise UserError(
                    f"this {self.model_type} model has {key}={raw[key]!r}, but clearhead supports "
                    f"only {' or '.join(map(repr, allowed))}; give another model"
                )
