"""The compiled library and the signatures of its functions.

A function that returns an int returns an error code: here it raises a `UserError` instead.
"""

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, c_char_p, c_double, c_float, c_int, c_int32, c_void_p
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clearhead.errors import UserError
from clearhead.native.building import LIBRARY

ERRORS = {
    1: "there is not enough memory for this batch; give a smaller batch_tokens",
    2: (
        "a text is empty or longer than this model's positions, or a limit is out of range; "
        "split the text or give another limit"
    ),
    3: "a token id or position is out of range; use the tokenizer that belongs to this model",
    4: (
        "the model's output is not finite: its weights are damaged or its training diverged; "
        "use another checkpoint"
    ),
}


def _int32_fields(names: str) -> list[tuple[str, type[c_int32]]]:
    return [(name, c_int32) for name in names.split()]


class Sizes(ctypes.Structure):
    """`Sizes` of engine.h."""

    _fields_ = [
        *_int32_fields("d_model h d_ff encoder_layers decoder_layers"),
        *_int32_fields("src_vocab tgt_vocab src_len tgt_len"),
        *_int32_fields("cross pre_norm biased_norm activation int8"),
        *_int32_fields("pad_id bos_id eos_id"),
        ("eps", c_float),
    ]


SIZE_NAMES = [field[0] for field in Sizes._fields_]


class Options(ctypes.Structure):
    """`Options` of search.c."""

    _fields_ = [
        *_int32_fields("beam_size n_best no_repeat_ngram min_length"),
        *_int32_fields("early_stopping scores slots"),
        ("length_penalty", c_double),
    ]


class Job(ctypes.Structure):
    """`Job` of search.c."""

    _fields_ = [
        *((name, c_void_p) for name in ("ids", "start", "limit")),
        *_int32_fields("sentences room next stop"),
        *((name, c_void_p) for name in ("found", "length", "score", "normalized", "finished")),
    ]


SIGNATURES: dict[str, tuple[object, Sequence[object]]] = {
    "clearhead_kernels": (c_char_p, (c_int,)),
    "clearhead_model_new": (c_void_p, (POINTER(Sizes), c_char_p)),
    "clearhead_model_free": (None, (c_void_p,)),
    "clearhead_set_linear": (c_int, (c_void_p, c_int, c_int, *(c_void_p, c_int) * 2, c_int)),
    "clearhead_widen": (c_int, (c_void_p,)),
    "clearhead_set_norm": (c_int, (c_void_p, c_int, c_int, c_void_p, c_void_p, c_int)),
    "clearhead_set_tables": (None, (c_void_p,) * 6),
    "clearhead_search": (c_int, (c_void_p, POINTER(Options), POINTER(Job))),
    "clearhead_session_new": (c_void_p, (c_void_p, c_int, c_int, c_int, c_int)),
    "clearhead_session_free": (None, (c_void_p,)),
    "clearhead_session_source": (c_int, (c_void_p, c_void_p, c_void_p, c_int)),
    "clearhead_session_decode": (c_int, (c_void_p, c_int, *(c_void_p,) * 4)),
    "clearhead_session_keep": (c_int, (c_void_p, c_void_p, c_int)),
    "clearhead_session_logits": (c_int, (c_void_p, c_int, c_void_p)),
    "clearhead_session_best": (c_int, (c_void_p, c_int, *(c_void_p,) * 3)),
    "clearhead_encode": (c_int, (c_void_p, c_void_p, c_void_p, c_int)),
    "clearhead_product": (c_int, (c_void_p, c_int, c_int, c_void_p, c_int, c_void_p)),
}


@cache
def library(path: Path = LIBRARY) -> ctypes.CDLL:
    """The loaded library.

    Raises:
        UserError: it was not built, or not for this processor.
    """
    try:
        loaded = ctypes.CDLL(str(path))
        functions = {name: getattr(loaded, name) for name in SIGNATURES}
    except (OSError, AttributeError):  # not there, or of another version
        raise UserError(
            "this installation has no compiled engine; install a C compiler (gcc or clang) and "
            "install clearhead again, or give --engine readable"
        ) from None
    for name, (result, arguments) in SIGNATURES.items():
        function = functions[name]
        function.restype, function.argtypes = result, list(arguments)
        if result is c_int:
            function.errcheck = _refuse_failure
    return loaded


def _refuse_failure(code: int, *_: object) -> int:
    """Raise what an error code of the library means; called by ctypes with every code."""
    if code:
        raise UserError(ERRORS.get(code, f"the native engine failed with code {code}"))
    return code


def address(array: NDArray[np.generic] | None) -> int | None:
    """Where the elements of a contiguous array lie."""
    if array is None:
        return None
    assert array.flags.c_contiguous
    return int(array.ctypes.data)
