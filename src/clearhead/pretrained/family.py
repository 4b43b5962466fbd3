"""A family of models: its config.json in our words, and its table of names."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass
from typing import Any

from torch import nn

from clearhead.errors import UserError
from clearhead.pretrained.table import Table

Raw = Mapping[str, Any]


@dataclass(frozen=True)
class Family:
    """How a family's files are read and written.

    `fields` names each of our sizes in their config.json, `fixed` what must stand there for
    our formulas to be theirs, `absent` what a key that is left out means there where our default
    is another, `architectures` the heads that each of their classes has, `heads` a tensor by
    which a head that the class does not promise shows that the file brings it all the same.
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

    @property
    def bare(self) -> str:
        """The class without a head, whose files leave the prefix out."""
        return next(iter(self.architectures))

    def read(self, raw: Raw, held: Callable[[str], bool]) -> Any:
        """Our record of their config.json; `held` says whether the file has a tensor.

        Raises:
            UserError: their model computes something that ours does not, or a size does not do.
        """
        raw = self.absent | dict(raw)
        self._check_fixed(raw)
        promised = self.architectures[self.architecture(raw)]
        told = {
            ours: raw[key]
            for ours, key in self.fields.items()
            if key in raw and (raw[key] is not None or ours.endswith("_id"))
        }
        values = {ours: self._whole(ours, value) for ours, value in told.items()}
        if "heads" in self.config.__dataclass_fields__:
            brought = [head for head, mark in self.heads.items() if held(mark)]
            values["heads"] = tuple(dict.fromkeys([*promised, *brought]))
        values |= self.counted(raw)
        for name, field in self.config.__dataclass_fields__.items():
            if name not in values and field.default is MISSING:
                raise UserError(f"{self.fields[name]} is missing; copy the model again")
        return self.config(**values)

    def _whole(self, ours: str, value: Any) -> Any:
        """10000.0 is a whole number, too."""
        whole = self.config.__dataclass_fields__[ours].type is int
        return int(value) if whole and isinstance(value, float) and value.is_integer() else value

    def counted(self, raw: Raw) -> dict[str, Any]:
        """Sizes that their file tells in another way."""
        return {"labels": len(raw["id2label"])} if raw.get("id2label") else {}

    def write(self, config: Any, origin: Raw | None) -> dict[str, Any]:
        """Their config.json of our record; `origin`, what was read, stays where it still holds."""
        raw = dict(origin or self._skeleton(config))
        for ours, key in self.fields.items():
            value = getattr(config, ours)
            if self.config.__dataclass_fields__[ours].type is float:
                value = float(value)  # theirs are strict: 0 would be no number there
            if raw.get(key) != value and (value is not None or key in raw):
                raw[key] = value
        labels = getattr(config, "labels", 2)
        if labels != len(raw.get("id2label", "01")):
            raw["id2label"] = {str(i): f"LABEL_{i}" for i in range(labels)}
            raw["label2id"] = {f"LABEL_{i}": i for i in range(labels)}
        return raw

    def architecture(self, raw: Raw) -> str:
        """The class that a config.json names; without a name, the bare one.

        Raises:
            UserError: we do not have it.
        """
        name = (raw.get("architectures") or [self.bare])[0]
        if name not in self.architectures:
            raise UserError(
                f"the {self.model_type} architecture {name!r} is not among ours: "
                f"{', '.join(self.architectures)}; give a model of one of these"
            )
        return str(name)

    def _skeleton(self, config: Any) -> dict[str, Any]:
        """What a config.json says beside the sizes."""
        wanted = set(getattr(config, "heads", ()))
        # What a class does not promise its file may bring, if it shows there.
        fitting = [
            name
            for name, heads in self.architectures.items()
            if set(heads) <= wanted <= {*heads, *self.heads}
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
                    f"this {self.model_type} model has {key}={raw[key]!r}, and ours computes only "
                    f"{' or '.join(map(repr, allowed))}; give another model"
                )
