"""A text must fit into the positions of its model: refuse it in one line, or cut it and say so."""

import logging
from collections.abc import Sequence

from clearhead.errors import UserError

logger = logging.getLogger(__name__)


class Positions:
    """Checks texts of ids against a limit; counts those that it cut.

    A text that is cut keeps its first tokens and the sign at its end, as sentence-transformers
    cuts.
    """

    def __init__(self, limit: int, truncate: bool = False) -> None:
        self.limit, self.truncate = limit, truncate
        self.seen, self.cut, self.first = 0, 0, ""

    def fit(self, ids: Sequence[int], name: str) -> list[int]:
        """The ids, all of them or cut; `name` says in errors whose they are.

        Raises:
            UserError: there are too many and none may be cut.
        """
        self.seen += 1
        if len(ids) <= self.limit:
            return list(ids)
        if not self.truncate:
            raise UserError(
                f"input {name!r} has {len(ids):,} tokens, signs included, and this model reads "
                f"{self.limit:,}; shorten or split it, or let it be cut (--truncate, in Python "
                "truncate=True)"
            )
        self.first = self.first or name
        self.cut += 1
        return [*ids[: self.limit - 1], ids[-1]]

    def say(self) -> None:
        """Tell how many were cut, if any."""
        if self.cut:
            logger.warning(
                "%d of %d texts were cut to %d tokens; the first is %r",
                self.cut, self.seen, self.limit, self.first,
            )  # fmt: skip
