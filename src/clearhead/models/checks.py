"""What a configuration's numbers must be, in one line each (they come from a file by hand)."""

import dataclasses
from typing import Any

from clearhead.errors import UserError


def check_numbers(config: Any) -> None:
    """Every field marked ``int``, ``bool``, ``float`` or ``float | None`` must hold one.

    Raises:
        UserError: names the field, its value and what it should be. Sizes are 1 or
            more, ids 0 or more, shares (dropout) at least 0 and below 1.
    """
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if field.type is int:
            least = 0 if field.name.endswith("_id") else 1
            if type(value) is not int or value < least:
                _refuse(field.name, value, f"a whole number, {least} or more")
        if field.type is bool and type(value) is not bool:
            _refuse(field.name, value, "true or false")
        share = field.type is float or (field.type == float | None and value is not None)
        if share and (type(value) not in (int, float) or not 0 <= value < 1):
            _refuse(field.name, value, "a number, at least 0 and below 1")


def _refuse(name: str, value: object, expected: str) -> None:
    raise UserError(f"{name}={value!r} does not do; give {expected}")
