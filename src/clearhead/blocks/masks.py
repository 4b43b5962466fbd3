"""Which keys each query may attend to. Masks are boolean, True = visible.

Shapes are (batch, 1, query, key) or broadcast to it, so masks combine with ``&``.
(`torch.nn.MultiheadAttention` uses the opposite convention, True = hidden; Keras and
`F.scaled_dot_product_attention` use ours.)
"""

import torch
from torch import Tensor

from clearhead.blocks.checks import (
    check_ids,
    check_mask_type,
    check_padding,
    check_size,
    has_values,
)
from clearhead.errors import UserError

# Additive masks hide with -inf, or with a number that the softmax turns into 0.
HIDDEN = -1e4


def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Hides the padding at the end of short sentences.

    Shape: (batch, key_len) ids -> (batch, 1, 1, key_len), the same for each query.
    """
    check_padding(ids, pad_id)
    return (ids != pad_id)[:, None, None, :]


def look_ahead_mask(size: int, device: torch.device | str | None = None) -> Tensor:
    """Position i sees positions 0 … i: a lower triangle (paper, section 3.2.3).

    Shape: -> (1, 1, size, size)
    """
    check_size(size)
    return torch.ones(size, size, dtype=torch.bool, device=device).tril()[None, None]


def decoder_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Each target position sees itself and the positions before it, except padding.

    Shape: (batch, tgt_len) ids -> (batch, 1, tgt_len, tgt_len)
    """
    return padding_mask(ids, pad_id) & look_ahead_mask(ids.shape[1], ids.device)


def as_boolean(mask: Tensor) -> Tensor:
    """A mask in the form used here, True = visible, from the other forms in use.

    Integers and floats of 0 and 1: 1 = visible, as the teaching sources write it. Other floats
    are additive, as `torch.nn.Transformer` writes them: 0 = visible, -inf (or -1e4 and below)
    = hidden; a float mask of zeros alone is additive and hides nothing.

    Raises:
        UserError: other values, such as the biases of ALiBi, or integers to be added, or a mask
            with a gradient, which would stay 0. Integers are not checked on a GPU, which would
            have to wait, or in a compiled graph: there every integer other than 1 means hidden.
            In `vmap` and `make_fx`, floats are not checked either.
    """
    if mask.dtype == torch.bool:
        return mask
    check_mask_type(mask)
    ones, zeros = mask == 1, mask == 0
    if not mask.is_floating_point():
        if mask.device.type == "cpu" and has_values(mask):
            _check_values(mask, ones | zeros)
        return ones
    if not has_values(mask):
        if torch.compiler.is_compiling():
            valid = (ones | zeros).all() | (zeros | (mask <= HIDDEN)).all()
            torch._assert_async(valid, "expected a mask of booleans, 0 and 1, or 0 and -inf")
        return torch.where(ones.any(), ones, zeros)
    if ones.any() and (ones | zeros).all():
        return ones
    _check_values(mask, zeros | (mask <= HIDDEN))
    return zeros


def _check_values(mask: Tensor, allowed: Tensor) -> None:
    if not allowed.all():
        wrong = mask[~allowed][0].item()
        raise UserError(
            f"the mask has shape {tuple(mask.shape)} and holds {wrong:g}; expected booleans "
            "(True = visible), 0 and 1 (1 = visible), or an additive mask of floats: 0 (visible) "
            "and -inf"
        )


def shift_right(labels: Tensor, bos_id: int) -> Tensor:
    """The decoder's input: the labels shifted right by one position, with BOS first.

    ====================  ======  ======  ======  ======
    label (to predict)    Un      homme   rit     </s>
    decoder input         <s>     Un      homme   rit
    ====================  ======  ======  ======  ======

    Shape: (batch, tgt_len) -> (batch, tgt_len)
    """
    check_ids("labels", labels)
    shifted = labels.roll(1, dims=1)
    shifted[:, 0] = bos_id
    return shifted
