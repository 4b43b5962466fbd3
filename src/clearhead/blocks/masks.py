"""Who may look at whom. Every mask is boolean, True = may look.

Shapes are (batch, 1, query, key) or broadcast to it, so masks combine with ``&``.
(`torch.nn.MultiheadAttention` uses the opposite sign, True = hide; Keras and
`F.scaled_dot_product_attention` use ours.)
"""

import torch
from torch import Tensor

from clearhead.errors import UserError


def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Hides the filling at the end of short sentences.

    Shape: (batch, key_len) ids -> (batch, 1, 1, key_len), the same for every query.
    """
    return (ids != pad_id)[:, None, None, :]


def look_ahead_mask(size: int, device: torch.device | str | None = None) -> Tensor:
    """Position i may look at positions 0 … i: a lower triangle (paper, section 3.2.3).

    Shape: -> (1, 1, size, size)
    """
    return torch.ones(size, size, dtype=torch.bool, device=device).tril()[None, None]


def decoder_mask(ids: Tensor, pad_id: int) -> Tensor:
    """What a decoder position may see: itself and what stands before it, filling excepted.

    Shape: (batch, tgt_len) ids -> (batch, 1, tgt_len, tgt_len)
    """
    return padding_mask(ids, pad_id) & look_ahead_mask(ids.shape[1], ids.device)


def as_boolean(mask: Tensor) -> Tensor:
    """A 0/1 mask, as the teaching literature writes it, in our form.

    Raises:
        UserError: a mask of 0 and -inf, which is meant to be added to the scores.
    """
    if mask.dtype == torch.bool:
        return mask
    if mask.is_floating_point() and (mask < 0).any():
        raise UserError(
            f"the mask holds {mask.min().item()}, as a mask to be added does; "
            "expected True or 1 = may look, False or 0 = hidden: give `mask == 0` instead"
        )
    return mask != 0


def check_mask(mask: Tensor | None, scores: tuple[int, int, int, int]) -> None:
    """A mask must reach the scores' shape, (batch, h, query, key), by its own axes.

    Broadcasting would lay the batch of a (batch, query, key) mask over the heads,
    without a word where the two sizes happen to be equal.

    Raises:
        UserError: it does not; both shapes are named.
    """
    if mask is None:
        return
    batch, h, query, key = scores
    shape = (1,) * (4 - mask.dim()) + tuple(mask.shape)
    wanted = (batch, h if mask.dim() == 4 else 1, query, key)
    if len(shape) > 4 or any(size not in (1, s) for size, s in zip(shape, wanted, strict=True)):
        raise UserError(
            f"a mask of shape {tuple(mask.shape)} does not fit batch={batch}, query={query}, "
            f"key={key}; give ({batch}, 1, {query}, {key}), where any size may be 1"
        )


def shift_right(labels: Tensor, bos_id: int) -> Tensor:
    """The decoder's input from its labels: what was said so far, one step late.

    ====================  ======  ======  ======  ======
    label (to predict)    Un      homme   rit     </s>
    decoder input         <s>     Un      homme   rit
    ====================  ======  ======  ======  ======

    Shape: (batch, tgt_len) -> (batch, tgt_len)
    """
    shifted = labels.roll(1, dims=1)
    shifted[:, 0] = bos_id
    return shifted
