"""Where a walk through the data stands, and whether it is the same walk."""

from collections.abc import Mapping

from clearhead.errors import UserError


def refuse_another_walk(saved: Mapping[str, int], now: Mapping[str, int]) -> None:
    """A position means something only in the data and the batches that it was saved in.

    Raises:
        UserError: something that the batches depend on was different then.
    """
    for name, value in now.items():
        if saved[name] != value:
            raise UserError(
                f"cannot go on in the data: {name} was {saved[name]} and is {value} now; "
                "resume with the same data and batch settings, or start a new run"
            )
