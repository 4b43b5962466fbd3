"""Weights to and from `model.safetensors`; a pickle is never opened."""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import safetensors
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from clearhead.blocks.variants.low_rank import LowRankLinear
from clearhead.blocks.variants.positions import RotaryPositions
from clearhead.errors import DIFFERENT_MODELS, UserError
from clearhead.fast.dropout import CheapDropout
from clearhead.files import atomic_save, atomic_write
from clearhead.models import weight_files
from clearhead.models.architecture import Uninitialized
from clearhead.models.config import Sized, check_file_size

Shapes = dict[str, tuple[int, ...]]
ADVICE = (
    "it could not be loaded again, so make both agree, for example by "
    "model.config = dataclasses.replace(model.config, encoder_layers=4)"
)
METADATA = {"format": "pt"}  # the library of the tensors, which `transformers` checks
DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)


def save(model: nn.Module, config: str, directory: Path, dtype: torch.dtype | None) -> None:
    """Write model.safetensors and config.json; a shared matrix is stored once."""
    tensors = {
        name: storable(name, parameter, dtype)
        for name, parameter in model.named_parameters()  # names each shared tensor once
    }
    tensors |= {name: buffer.cpu().contiguous() for name, buffer in state_of_parts(model).items()}
    write_tensors(directory / "model.safetensors", tensors, METADATA)
    atomic_write(directory / "config.json", config)


def state_of_parts(model: nn.Module) -> dict[str, Tensor]:
    """What a user's parts keep beside their parameters, such as the running mean of a batch norm.

    The buffers of the library's own blocks follow from their sizes; files do not hold them.
    """
    kept = model.state_dict()
    return {
        name: kept[name]
        for path, module in model.named_modules()
        if not isinstance(module, RotaryPositions)
        for name, _ in module.named_buffers(path, recurse=False)
        if name in kept
    }


def check_described(model: nn.Module, build: Callable[[], nn.Module]) -> nn.Module:
    """Refuse to save a model that differs from the one that its configuration describes.

    Returns the described model. `build` makes a model of the configuration, as loading does. A
    model that has parts of other classes is not compared: they are given again when it is loaded.

    Raises:
        UserError: it has low-rank matrices, or a parameter is missing, unexpected, shared or of
            another shape.
    """
    if any(isinstance(module, LowRankLinear) for module in model.modules()):
        raise UserError(
            "the model is adapted, and its configuration does not describe low-rank matrices; "
            "merge(model) first (clearhead.models.adapting), then save it"
        )
    with Uninitialized():
        described = build()
    if not _classes(model) <= _classes(described):
        return described
    own, wanted = (_shapes(dict(m.named_parameters())) for m in (model, described))
    named = {name for name, _ in model.named_parameters(remove_duplicate=False)} - own.keys()
    if shared := [name for name in wanted if name in named]:
        raise UserError(
            f"{shared[0]} is also the matrix of another module, but separate by model.config; give "
            "it a copy (nn.Parameter(weight.detach().clone())), or create the model with "
            "tie_embeddings=True"
        )
    _check_names(wanted, own, "the model", ADVICE)
    return described


def _shapes(tensors: Mapping[str, Tensor]) -> Shapes:
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}


def _classes(model: nn.Module) -> set[type]:
    """Of its modules; dropout has nothing to save, and `accelerate` replaces it."""
    return {type(m) for m in model.modules() if not isinstance(m, nn.Dropout | CheapDropout)}


def storable(name: str, tensor: Tensor, dtype: torch.dtype | None) -> Tensor:
    """A weight as it goes into a file, in `dtype` if given.

    Raises:
        UserError: it is NaN or infinite, or `dtype` is not one of floats.
    """
    if dtype not in (None, *DTYPES):
        raise UserError(
            f"dtype={dtype!r}: weights are saved as floats; give torch.float32, torch.float16 or "
            "torch.bfloat16"
        )
    stored = tensor.detach().to("cpu", dtype or tensor.dtype).contiguous()
    if not stored.isfinite().all():
        kind = str(stored.dtype).removeprefix("torch.")
        raise UserError(
            f"{name} holds NaN or infinity as {kind}; such a model is not saved: "
            "go back to an earlier checkpoint, or save as float32"
        )
    return stored


def write_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str]) -> None:
    """A safetensors file with its checksum, written whole or not at all.

    Tensors that share their memory (`a.data = b.data`) are stored each.
    """
    uses = Counter(t.data_ptr() for t in tensors.values())
    own = {name: t.clone() if uses[t.data_ptr()] > 1 else t for name, t in tensors.items()}

    def write(temporary: Path) -> None:
        try:
            save_file(own, temporary, metadata=metadata | weight_files.UNSET_CHECKSUM)
        except safetensors.SafetensorError as error:  # its name for a full disk
            raise OSError(str(error)) from error
        weight_files.seal_checksum(temporary)

    atomic_save(path, write)


def refuse_a_file(directory: Path) -> None:
    """Refuse a file given in place of a model directory, and name its kind."""
    if directory.is_file():
        what = weight_files.foreign(directory) or "a file"
        raise UserError(
            f"{directory} is {what}; expected a model directory, which holds config.json, "
            "model.safetensors and a tokenizer or vocabulary"
        )
    weight_files.refuse_pickles(directory)


def check_size(config: Sized, path: Path) -> None:
    """Refuse a file that is far too small for the configuration, before the model is built."""
    try:
        with safetensors.safe_open(path, "pt"):
            size = path.stat().st_size
    except (safetensors.SafetensorError, OSError):
        return  # `read_tensors` says what is wrong with it
    check_file_size(config, size, str(path))


def load_into(model: nn.Module, path: Path) -> None:
    """Copy the file's tensors into the model, in float32; every name and shape must agree.

    Raises:
        UserError: no such file, not safetensors, truncated, or tensors that do
            not belong to this model (named, with both shapes).
    """
    load_tensors(model, read_tensors(path), str(path))


def load_tensors(model: nn.Module, tensors: dict[str, Tensor], origin: str) -> None:
    """Copy named tensors into the model; `origin` says in errors where they come from."""
    parameters = dict(model.named_parameters())
    # Files of earlier versions lack them.
    buffers = {name: own for name, own in state_of_parts(model).items() if name in tensors}
    _check_names(_shapes(parameters | buffers), _shapes(tensors), origin, DIFFERENT_MODELS)
    refuse_damaged_values({name: tensors[name] for name in parameters}, origin)
    with torch.no_grad():
        for name, own in (parameters | buffers).items():
            own.copy_(tensors[name])


def refuse_damaged_values(tensors: Mapping[str, Tensor], origin: str) -> None:
    """Refuse weights with NaN or infinity, and integer (quantized) weights.

    The former give NaN for every text; the scale of the latter is not in the file.
    """
    for name, tensor in tensors.items():
        if tensor.dtype not in DTYPES:
            kind = str(tensor.dtype).removeprefix("torch.")
            raise UserError(f"{origin}: {name} {weight_files.NO_FLOATS.format(kind)}")
        if not tensor.isfinite().all():
            raise UserError(
                f"{origin}: {name} holds NaN or infinity: the weights are damaged or the training "
                "diverged; use another checkpoint"
            )


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file; for any other file, a `UserError` names its kind."""
    return weight_files.read_checked(path, load_file)


def _check_names(wanted: Shapes, given: Shapes, origin: str, advice: str) -> None:
    missing, extra = sorted(wanted.keys() - given.keys()), sorted(given.keys() - wanted.keys())
    if missing or extra:
        raise UserError(
            f"{origin} does not fit its config.json: missing {_some(missing)}, "
            f"unexpected {_some(extra)}; {advice}"
        )
    for name, shape in wanted.items():
        if shape != given[name]:
            raise UserError(
                f"{origin}: {name} has shape {given[name]}, config.json says {shape}; {advice}"
            )


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more or "none"
