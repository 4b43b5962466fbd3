"""Which engine computes, and why: the native one where it can, else the readable one.

Nothing here imports torch.
"""

import logging
from dataclasses import dataclass
from functools import cache
from typing import Literal, get_args

from clearhead.errors import UserError, counted
from clearhead.native.library import library
from clearhead.native.model import kernel_names
from clearhead.native.search import check_threads

logger = logging.getLogger(__name__)

EngineName = Literal["auto", "readable", "native"]
AnyPrecision = Literal["auto", "float32", "bfloat16", "int8"]
INT8_KERNELS = ("AVX512-VNNI", "AVX-VNNI", "NEON")  # where int8 is faster than float32


@dataclass(frozen=True)
class Request:
    """What was requested; `threads` None means all cores.

    Raises:
        UserError: an unknown engine or precision, a device that is not a string, or an impossible
            number of threads.
    """

    engine: EngineName = "auto"
    device: str = "auto"
    precision: AnyPrecision = "float32"
    threads: int | None = None

    def __post_init__(self) -> None:
        for name, allowed in (("engine", EngineName), ("precision", AnyPrecision)):
            if getattr(self, name) not in get_args(allowed):
                choices = ", ".join(get_args(allowed))
                raise UserError(f"{name} {getattr(self, name)!r} is unknown; give {choices}")
        if not isinstance(self.device, str):
            raise UserError(
                f"device={self.device!r} is not the name of a device; give 'auto', 'cpu', 'cuda', "
                "'cuda:N' or 'mps'"
            )
        if self.threads is not None:
            check_threads(self.threads)

    @property
    def int8(self) -> bool:
        """Whether the native engine computes in int8."""
        if self.precision != "auto":
            return self.precision == "int8"
        return kernel_names()[0] in INT8_KERNELS

    def not_native(self, ensemble: bool = False) -> str:
        """Why only the readable engine does this; empty where the native engine may.

        Raises:
            UserError: the native engine was requested.
        """
        reasons = (
            (self.engine == "readable", "engine readable was requested"),
            (self.device not in ("auto", "cpu"), f"device {self.device} was requested"),
            (self.precision == "bfloat16", "bfloat16 is a precision of the readable engine"),
            (ensemble, "an ensemble runs on the readable engine only"),
            (bool(missing_library()), missing_library()),
        )
        return self.refused(next((text for holds, text in reasons if holds), ""))

    def refused(self, reason: str) -> str:
        """The reason; an error where the native engine was requested or int8 needs it."""
        if reason and self.engine == "native":
            raise UserError(f"the native engine cannot run this: {reason}; give --engine readable")
        if reason and self.precision == "int8":
            raise UserError(
                f"int8 is a precision of the native engine, which cannot be used: {reason}; "
                "give --precision float32"
            )
        return reason


@cache
def missing_library() -> str:
    """Why there is no native engine in this installation; empty where there is one."""
    try:
        library()
    except UserError:
        return "this installation has no compiled engine"
    return ""


def log_native(request: Request, threads: int) -> None:
    """One line: the engine, its precision, its kernels and threads."""
    precision = "int8" if request.int8 else "float32"
    logger.info("native, %s, %s, %s", precision, kernel_names()[0], counted(threads, "thread"))


def log_readable(precision: str, reason: str) -> None:
    """One line: the engine, its precision and why it is not the native one."""
    logger.info("readable, %s: %s", precision, reason)
