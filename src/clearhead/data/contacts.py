"""Contacts of a protein's structure: a file with two positions in each line."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clearhead.data.lines import read_lines
from clearhead.errors import UserError

Floats = NDArray[np.float64]


def read_contacts(path: str | Path, length: int) -> Floats:
    """A map of contacts from lines with two positions, counted from 1; it is symmetric.

    Shape: -> (length, length), 1 where there is a contact

    Raises:
        UserError: a line has no two positions of the protein.
    """
    found = np.zeros((length, length))
    for number, line in enumerate(read_lines(path), start=1):
        try:
            one, other = (int(field) for field in line.replace(",", " ").split()[:2])
        except ValueError as error:
            raise UserError(
                f"{path}, line {number}: {line.strip()!r}; expected two positions, such as 3 41"
            ) from error
        if not (1 <= one <= length and 1 <= other <= length):
            raise UserError(f"{path}, line {number}: {one} {other}; positions are 1 to {length}")
        found[one - 1, other - 1] = found[other - 1, one - 1] = 1
    return found
