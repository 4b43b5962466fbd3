"""A GPU's matrix units work in eights: widths of batches that suit them."""

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]


def in_steps(ids: Ids, step: int, longest: int, pad_id: int) -> Ids:
    """(batch, length) padded to the next multiple of `step`, but to no more than `longest`."""
    length = ids.shape[1]
    more = min(-(-length // step) * step, longest) - length
    return ids if more <= 0 else np.pad(ids, ((0, 0), (0, more)), constant_values=pad_id)
