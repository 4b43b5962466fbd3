"""Argument checks of the blocks.

Each `check_…` raises a `UserError` unless its arguments are what its docstring says: one line that
names the argument, its shape and what was expected.

They read shapes and dtypes only, so they cost nothing measurable and a GPU need not wait for them.
`outside` reads values, but only on a CPU; `has_values` reads them on any device.
"""

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, NoReturn

import torch
from torch import Tensor, nn

from clearhead.errors import UserError


def separate_features(*arguments: Any) -> tuple[Any, ...]:
    """The number of features among a constructor's arguments (or None), then the others.

    Some teaching code writes ``Encoder(features, layers)`` where other code writes
    ``Encoder(layers)``. The number of features is the only whole number above 1. It is taken
    out, each later argument moves one position forward, and the last one becomes None.

    Raises:
        UserError: a number that is neither features nor dropout, or layers in a list, where
            their parameters would not be found.
    """
    for value in arguments:
        if isinstance(value, Iterable) and not isinstance(value, nn.Module):
            raise UserError(f"layers is a {type(value).__name__}; give nn.ModuleList(layers)")
    numbers = [i for i, value in enumerate(arguments) if isinstance(value, Real)]
    found = [i for i in numbers if isinstance(arguments[i], Integral) and arguments[i] > 1]
    if len(found) > 1 or len(numbers) - len(found) > 1:
        given = " and ".join(str(arguments[i]) for i in numbers)
        raise UserError(
            f"the constructor was given {given}; expected at most one number of features (a whole "
            "number above 1) and one dropout rate (0 to 1)"
        )
    if not found or arguments[1] is None:
        return None, *arguments
    (index,) = found
    return arguments[index], *arguments[:index], *arguments[index + 1 :], None


def check_heads(d_model: int, h: int, name: str = "h") -> None:
    """Each head has the same whole number of dimensions, at least 1."""
    if not 1 <= h <= d_model or d_model % h:
        raise UserError(
            f"d_model={d_model} is not divisible by {name}={h}; "
            f"each head needs the same whole number d_k = d_model / {name} of dimensions, 1 or more"
        )


def check_ids(name: str, ids: Tensor) -> None:
    """Token ids of a batch: integers of shape (batch, seq_len)."""
    check_integers(name, ids)
    if ids.dim() != 2:
        hint = f"; add the batch axis: {name}.unsqueeze(0)" if ids.dim() == 1 else ""
        _refuse(name, ids, "token ids of shape (batch, seq_len)" + hint)


def check_padding(ids: Tensor, pad_id: int) -> None:
    """Token ids of a batch, and the id of their padding."""
    check_ids("ids", ids)
    if not isinstance(pad_id, Integral | Tensor):
        given = f"pad_id is {pad_id!r}; give"
        raise UserError(f"{given} the id of the padding, a number, or no mask if there is none")


def check_size(size: int) -> None:
    """The size of a look-ahead mask is a whole number of at least 0, not the ids."""
    if (isinstance(size, Tensor) and size.dim()) or isinstance(size, float) or size < 0:
        _refuse("size", size, "the number of positions: ids.shape[1]")


def outside(ids: Tensor, size: int) -> int | None:
    """One of the ids that are not in 0 to `size` - 1, or None.

    Also None on a GPU, which would have to wait and has its own assertion for an index out of
    range, and where there are no values.
    """
    if ids.device.type != "cpu" or ids.numel() == 0 or not has_values(ids):
        return None
    low, high = ids.aminmax()
    return int(low) if low < 0 else int(high) if high >= size else None


def has_values(x: Tensor) -> bool:
    """Whether code may branch on the values of x: not in a graph or `vmap`, which have none."""
    if torch.compiler.is_compiling():
        return False
    try:
        bool(x.any())
    except RuntimeError:
        return False
    return True


def is_transformed(x: Tensor) -> bool:
    """Whether x is a tensor of a function that `torch.func` transforms, and no other."""
    compiling = torch.compiler.is_compiling()
    return not compiling and torch._C._functorch.is_functorch_wrapped_tensor(x)


def check_integers(name: str, ids: Tensor) -> None:
    """Token ids of any shape, int32 or int64."""
    if not isinstance(ids, Tensor) or ids.dtype not in (torch.int64, torch.int32):
        _refuse(name, ids, "integer token ids (torch.int64), as a tokenizer returns them")


def check_sequence(name: str, x: Tensor, d_model: int | None = None) -> None:
    """A batch of sequences of vectors: floating-point, (batch, seq_len, d_model)."""
    fits = isinstance(x, Tensor) and x.dim() == 3 and x.is_floating_point()
    if not fits or x.shape[2] != (d_model or x.shape[2]):
        width = "d_model" if d_model is None else f"d_model={d_model}"
        flat = isinstance(x, Tensor) and x.dim() == 2
        hint = f"; add the batch axis: {name}.unsqueeze(0)" if flat else ""
        _refuse(name, x, f"floating-point vectors of shape (batch, seq_len, {width})" + hint)


def check_not_flat(name: str, mask: Tensor | None) -> None:
    """A mask of (batch, key), as in other libraries, could be taken for one of (query, key).

    Raises:
        UserError: the mask has two axes.
    """
    if isinstance(mask, Tensor) and mask.dim() == 2:
        wanted = "(batch, 1, query, key): (batch, key)[:, None, None] or (query, key)[None, None]"
        _refuse(name, mask, wanted)


def check_decode(encoder_output: Tensor, src_mask: Tensor | None, tgt: Tensor) -> None:
    """The arguments of `Transformer.decode`: vectors of the source, their mask, and target ids.

    The batches have the same size. Arguments in another order are refused by their dtype and axes.
    """
    check_not_flat("src_mask", src_mask)
    try:
        check_sequence("encoder_output", encoder_output)
        check_ids("tgt", tgt)
    except UserError as error:
        order = "the order is decode(encoder_output, src_mask, tgt, tgt_mask)"
        raise UserError(f"{error}; {order}") from error
    if encoder_output.shape[0] != tgt.shape[0]:
        raise UserError(
            f"batch sizes disagree: the source has {encoder_output.shape[0]} sentences and the "
            f"target {tgt.shape[0]}; give a target for each source"
        )


def check_features(name: str, x: Tensor, features: int) -> None:
    """Vectors with any leading axes: floating-point, (..., features).

    A norm with one alpha in all has `features` 1 and takes vectors of any width.
    """
    fits = isinstance(x, Tensor) and x.is_floating_point() and x.dim() > 0
    if not fits or x.shape[-1] != (features if features > 1 else x.shape[-1]):
        _refuse(name, x, f"floating-point vectors whose last dimension is {features}")


def check_positions(x: Tensor, start: int, seq_len: int, d_model: int) -> None:
    """A sequence of vectors that fits into `seq_len` positions from `start` on."""
    check_sequence("x", x, d_model)
    if start < 0:
        raise UserError(f"start={start} is negative; the first position is 0")
    end = start + x.shape[1]
    if end > seq_len:
        raise UserError(
            f"the sequence has {end} positions but seq_len={seq_len}; "
            "shorten or split the input, or build the model with a larger seq_len"
        )


def check_dot_product(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Queries and keys of one width, and one value for each key."""
    if query.shape[-1] != key.shape[-1]:
        raise UserError(
            f"the query has shape {_shape(query)} and the key {_shape(key)}; "
            "expected the same last dimension d_k"
        )
    if key.shape[-2:-1] != value.shape[-2:-1]:
        raise UserError(
            f"the key has shape {_shape(key)} and the value {_shape(value)}; "
            "expected one value for each key: the same dimension before the last"
        )


def check_scores(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None) -> None:
    """The inputs of `scaled_dot_product_attention`: vectors, and a mask that fits their scores.

    They have one dtype, and their axes before the last two broadcast.
    """
    for name, x in {"Q": Q, "K": K, "V": V}.items():
        fits = isinstance(x, Tensor) and x.dim() > 1 and x.shape[-1] and x.is_floating_point()
        if not fits or x.dtype != Q.dtype:
            kind = "" if name == "Q" else f" and of the dtype of Q, {Q.dtype}"
            _refuse(name, x, f"floating-point vectors of shape (..., seq_len, d_k){kind}")
    try:
        lead = torch.broadcast_shapes(Q.shape[:-2], K.shape[:-2], V.shape[:-2])
    except RuntimeError as error:
        raise UserError(
            f"Q has shape {_shape(Q)}, K {_shape(K)} and V {_shape(V)}; expected the same sizes "
            "before the last two, for example batch and heads"
        ) from error
    check_mask(mask, (*lead, Q.shape[-2], K.shape[-2]))


def check_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, d_model: int, h: int
) -> None:
    """The inputs of multi-head attention: one batch, one value for each key, a mask that fits."""
    check_sequence("q", q, d_model)
    if k is not q:
        check_sequence("k", k, d_model)
    if v is not k:
        check_sequence("v", v, d_model)
    (batch, query, _), (k_batch, key, _), (v_batch, value, _) = q.shape, k.shape, v.shape
    if not batch == k_batch == v_batch:
        raise UserError(
            f"batch sizes disagree: q has {batch}, k has {k_batch}, v has {v_batch}; "
            "give the same number of sentences to all three"
        )
    if key != value:
        raise UserError(f"k has {key} positions and v has {value}; each key needs its value")
    check_mask(mask, (batch, h, query, key))


def check_text(ids: Tensor, mask: Tensor | None, h: int, query: int | None = None) -> None:
    """The token ids of a batch, and the mask of a model that reads them.

    Here a mask needs its four axes: one of another library, (batch, key), would be taken for
    (query, key) where the two sizes happen to be equal. `query` is 1 if it must hide padding only.
    """
    check_ids("ids", ids)
    batch, seq_len = ids.shape
    check_mask(mask, (batch, h, query or seq_len, seq_len), all_axes=True)


def check_mask(mask: Tensor | None, scores: tuple[int, ...], all_axes: bool = False) -> None:
    """A mask must broadcast to the scores' shape, (batch, h, query, key), by its own axes.

    Broadcasting would align the batch axis of a (batch, query, key) mask with the heads,
    without an error where the two sizes happen to be equal. With `all_axes` it has all four.
    """
    if mask is None:
        return
    if not isinstance(mask, Tensor):
        _refuse("mask", mask, "a tensor, True = visible, or None")
    *lead, query, key = scores
    missing = len(scores) - mask.dim()
    shape = (1,) * missing + tuple(mask.shape)
    wanted = ([1] * len(lead) if missing else lead) + [query, key]
    fits = not missing or (missing > 0 and not all_axes)
    if not fits or any(size not in (1, s) for size, s in zip(shape, wanted, strict=True)):
        batch = f"batch={lead[0]}, " if lead else ""
        good = (*lead[:1], *[1] * len(lead[1:]), query, key)
        forms = {2: "(batch, key): mask[:, None, None]", 3: "(batch, query, key): mask[:, None]"}
        repair = f"; from {forms[mask.dim()]}" if len(scores) == 4 and mask.dim() in forms else ""
        raise UserError(
            f"a mask of shape {_shape(mask)} does not fit {batch}query={query}, "
            f"key={key}; give {good}, where any size may be 1{repair}"
        )


def check_mask_type(mask: Tensor) -> None:
    """A mask selects keys: it has no gradient and no imaginary part."""
    if mask.requires_grad or mask.is_complex():
        what = "requires a gradient" if mask.requires_grad else "is complex"
        raise UserError(f"the mask {what}, but it only selects keys; give booleans, True = visible")


def _refuse(name: str, value: object, expected: str) -> NoReturn:
    found = f"is {value!r}" if isinstance(value, Real) else f"is of type {type(value).__name__}"
    if isinstance(value, Tensor):
        found = f"has shape {_shape(value)} and dtype {str(value.dtype).removeprefix('torch.')}"
    raise UserError(f"{name} {found}; expected {expected}")


def _shape(x: Tensor) -> str:
    return str(tuple(x.shape))
