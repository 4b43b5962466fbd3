"""A contestant that writes tokens, and the models that both sides write with."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import transformers

from clearhead.compare.race import Contestant, race
from clearhead.compare.results import Duel, Heat
from clearhead.export.quiet import quiet
from clearhead.pretrained import from_pretrained

BAR = 1.5
THEIRS = "transformers generate, float32"
OURS = "clearhead"
Ids = list[list[int]]


class Writer:
    """One contestant; remembers what it wrote."""

    def __init__(self, write: Callable[[Ids], Ids], given: Ids) -> None:
        self.write, self.given = write, given
        self.found: Ids = []

    def __call__(self) -> float:
        """Returns how many tokens were written."""
        self.found = self.write(self.given)
        return sum(map(len, self.found))


def same_weights(theirs: Any, noise: float) -> tuple[Any, Any]:
    """Their fresh model, with so much noise on every weight, and ours with the same weights."""
    theirs = theirs.eval()
    transformers.utils.logging.disable_progress_bar()
    with torch.no_grad(), TemporaryDirectory() as folder, quiet():
        for parameter in theirs.parameters():  # a fresh bias is 0, a fresh model says one word
            parameter.add_(torch.randn_like(parameter), alpha=noise)
        theirs.save_pretrained(Path(folder))
        return theirs, from_pretrained(folder)


def heat(
    title: str, everyone: dict[str, Writer], rounds: int, note: Callable[[Ids, Ids], str]
) -> Heat:
    """They race; `note` says of what one wrote, and what transformers wrote, how alike it is."""
    laps = race([Contestant(name, run) for name, run in everyone.items()], rounds, say=print)
    expected = everyone[THEIRS].found
    notes = {name: note(run.found, expected) for name, run in everyone.items()}
    ours = [name for name in laps if name != THEIRS]
    duels = [Duel(name, THEIRS, BAR if "float32" in name else None) for name in ours]
    return Heat(title, "tokens/s", laps, duels, {n: text for n, text in notes.items() if text})
