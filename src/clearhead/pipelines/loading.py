"""A pretrained model on its device, and the engine that computes it: shared by all pipelines."""

from dataclasses import dataclass
from pathlib import Path

from torch import nn

from clearhead.decoding.choice import Request, log_native, log_readable
from clearhead.decoding.precision import Precision, readable_precision, use_threads
from clearhead.fast.accelerate import accelerate, operations_for
from clearhead.models.native import unsupported
from clearhead.native.search import default_threads
from clearhead.pretrained.loading import load
from clearhead.text import PretrainedTokenizer
from clearhead.training.device_settings import choose_device


@dataclass(frozen=True)
class ChosenEngine:
    """`native`, with a number of threads; or the readable engine, with a precision."""

    native: bool
    precision: Precision
    threads: int = 1


def load_model(source: str | Path, request: Request) -> tuple[nn.Module, PretrainedTokenizer]:
    """The model and tokenizer of a directory or a name, on the requested device.

    Raises:
        UserError: there is no model, it is damaged, or the device is not available.
    """
    use_threads(request.threads)
    device = choose_device(request.device if request.not_native() else "cpu")
    model, tokenizer = load(source)
    if device.type != "cpu":
        model = accelerate(model, operations_for(device)).to(device)
    return model, tokenizer


def choose_engine(model: nn.Module, request: Request) -> ChosenEngine:
    """The native engine if it supports this model, otherwise the readable one; logs which.

    Raises:
        UserError: the native engine was requested and does not support the model.
    """
    reason = request.not_native() or request.refused(unsupported(model))
    if reason:
        device = next(model.parameters()).device
        precision = readable_precision(request.precision, device)
        log_readable(precision, reason)
        return ChosenEngine(False, precision)
    threads = request.threads or default_threads()
    log_native(request, threads)
    return ChosenEngine(True, "int8" if request.int8 else "float32", threads)
