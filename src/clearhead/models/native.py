"""Models of torch modules for the native engine: their sizes, weights and tables as arrays."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from clearhead import blocks
from clearhead.fast.accelerate import is_fast
from clearhead.models.architecture import Uninitialized, difference
from clearhead.models.bert import Bert
from clearhead.models.esm import Esm
from clearhead.models.gpt import Gpt
from clearhead.models.marian import Marian
from clearhead.models.native_files import sizes_of
from clearhead.models.stack import StackConfig
from clearhead.models.transformer import Transformer
from clearhead.native.model import NativeModel
from clearhead.native.weights import ModelSizes, Tables

Model = Transformer | Gpt | Bert | Esm
Array = NDArray[np.float32]


def unsupported(model: nn.Module) -> str:
    """Why the native engine does not run this model; empty if it does.

    It computes what a model of `from_config` computes. One with another part, setting, method or
    hook may compute anything, so it is left to the readable engine.
    """
    device = next(model.parameters()).device
    if device.type != "cpu":
        return f"the model is on {device}"
    if type(model) not in FAMILIES:
        return f"the model is a {type(model).__name__}, not one of the library's own models"
    for name, module in model.named_modules():
        if module._forward_hooks or module._forward_pre_hooks:
            return f"{name or 'the model'} has hooks"
        if method := _replaced_method(module):
            return f"{name or 'the model'} has its own {method}"
    with Uninitialized():
        return difference(model, cast(Any, type(model)).from_config(model.config))


def _replaced_method(module: nn.Module) -> str:
    """The first method that was replaced in this module alone, other than by `accelerate`."""
    for name, value in vars(module).items():
        if callable(getattr(type(module), name, None)) and not is_fast(value):
            return name
    return ""


def arrays_of(model: nn.Module) -> dict[str, Array]:
    """Every parameter by its name, float32, sharing memory where it is float32 already."""
    return {name: _array(tensor) for name, tensor in model.state_dict().items()}


def native_model(model: Model, int8: bool = False, kernels: str = "") -> NativeModel:
    """The same weights for the native engine; see `unsupported` for which models it takes."""
    for kind, make in FAMILIES.items():
        if isinstance(model, kind):
            sizes, tensors, tables = make(model)
            return NativeModel(sizes, tensors, tables, int8, kernels)
    raise TypeError(f"no family of {type(model).__name__}")


Parts = tuple[ModelSizes, Mapping[str, Array], Tables]


def _translator(model: Transformer) -> Parts:
    config, tensors = model.config, arrays_of(model)
    marian = model if isinstance(model, Marian) else None
    norms = (m for m in model.modules() if isinstance(m, blocks.LayerNormalization))
    sizes = replace(sizes_of(config), eps=next((norm.eps for norm in norms), 1e-6))
    if marian:
        sizes = replace(sizes, biased_norm=True, activation=marian.config.activation)
    scaled = marian is None or marian.config.scale_embedding
    factor = np.float32(config.d_model**0.5 if scaled else 1.0)
    src = tensors["src_embed.embedding.weight"] * factor
    tgt = tensors["tgt_embed.embedding.weight"]
    tied = tgt.ctypes.data == tensors["src_embed.embedding.weight"].ctypes.data
    positions = (_array(cast(Tensor, side.pe)[0]) for side in (model.src_pos, model.tgt_pos))
    tables = Tables(src, src if tied else tgt * factor, *positions)
    projection = {
        name.replace("projection_layer.proj", "projection"): array
        for name, array in tensors.items()
        if name.startswith("projection_layer.proj.")
    }
    return sizes, tensors | projection, tables


def _gpt(model: Gpt) -> Parts:
    config, tensors = model.config, arrays_of(model)
    embedding, positions = tensors["embed.embedding.weight"], tensors["positions.table.weight"]
    sizes = replace(
        _stack_sizes(config), decoder_layers=config.layers, tgt_vocab=config.vocab_size,
        tgt_len=config.seq_len, eos_id=-1 if config.eos_id is None else config.eos_id,
    )  # fmt: skip
    # Copies: the library reads a table where it is, if no padding is needed.
    tables = Tables(tgt_embedding=embedding.copy(), tgt_positions=positions.copy())
    return sizes, tensors | {"projection.weight": embedding}, tables


def _bert(model: Bert) -> Parts:
    config = model.config
    sizes = replace(
        _stack_sizes(config), encoder_layers=config.layers, src_len=config.seq_len,
        pre_norm=False, final_norm=False,
    )  # fmt: skip
    return sizes, arrays_of(model), Tables()


def _esm(model: Esm) -> Parts:
    config, rotary = model.config, _rotary(model)
    sizes = replace(_stack_sizes(config), encoder_layers=config.layers, src_len=config.seq_len)
    return sizes, arrays_of(model), Tables(rotary=rotary)


FAMILIES: dict[type, Callable[..., Parts]] = {
    Transformer: _translator, Marian: _translator, Gpt: _gpt, Bert: _bert, Esm: _esm,
}  # fmt: skip


def _stack_sizes(config: StackConfig) -> ModelSizes:
    """The sizes that BERT, GPT-2 and ESM-2 have in common."""
    return ModelSizes(
        d_model=config.d_model, h=config.h, d_ff=config.d_ff, biased_norm=True,
        activation=config.activation, eps=config.eps,
    )  # fmt: skip


def _rotary(model: Esm) -> Array:
    """(positions, 2, d_k / 2): cosines and sines of `RotaryPositions`, in float32 as there."""
    layer = model.encoder.layers[0]
    frequencies = cast(Tensor, layer.get_submodule("self_attention_block.rotary").frequencies)
    position = np.arange(model.config.seq_len, dtype=np.float32)[:, None]
    angle = position * _array(frequencies)
    return np.ascontiguousarray(np.stack([np.cos(angle), np.sin(angle)], axis=1), np.float32)


def _array(tensor: Tensor) -> Array:
    array: Array = tensor.detach().float().numpy()
    return array
