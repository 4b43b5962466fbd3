"""A translator's model directory, read for the native engine without torch."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearhead.errors import DIFFERENT_MODELS, UserError
from clearhead.models.config import TransformerConfig, check_memory
from clearhead.models.weight_files import NO_FLOATS, read_arrays
from clearhead.native.model import NativeModel
from clearhead.native.weights import Floats, ModelSizes, Tables

Arrays = Mapping[str, NDArray[Any]]
EMBEDDINGS = ("src_embed.embedding.weight", "tgt_embed.embedding.weight")
PROJECTION = "projection_layer.proj"


def read_translator(
    directory: Path, int8: bool = False, kernels: str = ""
) -> tuple[TransformerConfig, NativeModel]:
    """Load config.json and model.safetensors as `clearhead train` writes them.

    Raises:
        UserError: a file is missing or damaged, or the two contradict each other.
    """
    config = TransformerConfig.load(directory / "config.json")
    path = directory / "model.safetensors"
    check_memory(config)
    tensors = read_arrays(path)
    _check_names(config, tensors, str(path))
    arrays, tables = _renamed(config, tensors), _tables(config, tensors)
    try:
        return config, NativeModel(sizes_of(config), arrays, tables, int8, kernels)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def sizes_of(config: TransformerConfig) -> ModelSizes:
    """The sizes of a translator, with the paper's norms and ReLU."""
    return ModelSizes(
        d_model=config.d_model, h=config.h, d_ff=config.d_ff,
        encoder_layers=config.encoder_layers, decoder_layers=config.decoder_layers,
        src_vocab=config.src_vocab_size, tgt_vocab=config.tgt_vocab_size,
        src_len=config.src_seq_len, tgt_len=config.tgt_seq_len, cross=True,
        pre_norm=config.norm == "pre", final_norm=config.norm == "pre",
        pad_id=config.pad_id, bos_id=config.bos_id, eos_id=config.eos_id,
    )  # fmt: skip


def _renamed(config: TransformerConfig, tensors: Arrays) -> dict[str, NDArray[Any]]:
    weight = EMBEDDINGS[0] if config.tie_embeddings else f"{PROJECTION}.weight"
    return {
        **tensors,
        "projection.weight": tensors[weight],
        "projection.bias": tensors[f"{PROJECTION}.bias"],
    }


def _tables(config: TransformerConfig, tensors: Arrays) -> Tables:
    """Embeddings times sqrt(d_model), and the sinusoids of `PositionalEncoding`."""
    factor = np.float32(math.sqrt(config.d_model))
    src = tensors[EMBEDDINGS[0]].astype(np.float32) * factor
    tied = config.tie_embeddings
    tgt = src if tied else tensors[EMBEDDINGS[1]].astype(np.float32) * factor
    positions = (sinusoids(n, config.d_model) for n in (config.src_seq_len, config.tgt_seq_len))
    return Tables(src, tgt, *positions)


def sinusoids(seq_len: int, d_model: int) -> Floats:
    """The table of `clearhead.blocks.positional_encoding.sinusoids`, (seq_len, d_model)."""
    position = np.arange(seq_len, dtype=np.float64)[:, None]
    frequency = np.exp(np.arange(0, d_model, 2, dtype=np.float64) * (-math.log(10000.0) / d_model))
    angle = position * frequency
    pe = np.zeros((seq_len, d_model), np.float64)
    pe[:, 0::2], pe[:, 1::2] = np.sin(angle), np.cos(angle[:, : d_model // 2])
    return pe.astype(np.float32)


def _check_names(config: TransformerConfig, tensors: Arrays, origin: str) -> None:
    """Every weight that the configuration implies, and no other.

    Raises:
        UserError: names, data types or the shapes of the embeddings differ.
    """
    wanted = _names(config)
    missing, extra = sorted(wanted - tensors.keys()), sorted(tensors.keys() - wanted)
    if missing or extra:
        raise UserError(
            f"{origin} does not fit its config.json: missing {', '.join(missing[:3]) or 'none'}, "
            f"unexpected {', '.join(extra[:3]) or 'none'}; {DIFFERENT_MODELS}"
        )
    for name, array in tensors.items():
        if array.dtype.kind != "f":
            raise UserError(f"{origin}: {name} {NO_FLOATS.format(array.dtype)}")
    vocabularies = (config.src_vocab_size, config.tgt_vocab_size)
    for name, vocabulary in zip(EMBEDDINGS, vocabularies, strict=True):
        if name in wanted and tensors[name].shape != (vocabulary, config.d_model):
            raise UserError(
                f"{origin}: {name} has shape {tensors[name].shape}, config.json says "
                f"{(vocabulary, config.d_model)}; {DIFFERENT_MODELS}"
            )


def _names(config: TransformerConfig) -> set[str]:
    names = {EMBEDDINGS[0], f"{PROJECTION}.bias"}
    names |= set() if config.tie_embeddings else {EMBEDDINGS[1], f"{PROJECTION}.weight"}
    for side, layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        for layer in range(layers):
            names |= {f"{side}.layers.{layer}.{part}" for part in _parts_of_layer(side)}
        if config.norm == "pre":
            names |= {f"{side}.norm.alpha", f"{side}.norm.bias"}
    return names


def _parts_of_layer(side: str) -> set[str]:
    blocks = ["self_attention_block", *(["cross_attention_block"] if side == "decoder" else [])]
    matrices = [f"{block}.{w}" for block in blocks for w in ("w_q", "w_k", "w_v", "w_o")]
    matrices += ["feed_forward_block.linear_1", "feed_forward_block.linear_2"]
    norms = [f"residual_connections.{i}.norm" for i in range(len(blocks) + 1)]
    return {f"{m}.{p}" for m in matrices for p in ("weight", "bias")} | {
        f"{norm}.{p}" for norm in norms for p in ("alpha", "bias")
    }
