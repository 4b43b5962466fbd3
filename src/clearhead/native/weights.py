"""The sizes of a model, and its weights in the layout of the native engine."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearhead.errors import DIFFERENT_MODELS, UserError

Floats = NDArray[np.float32]
BLOCK = 64  # outputs of a block of weights: sizes are padded to multiples of it
HEAD = 16  # a head's features are padded to multiples of this

ACTIVATIONS = {"relu": 1, "gelu": 2, "gelu_new": 3, "gelu_pytorch_tanh": 3, "silu": 4, "swish": 4}
Pair = tuple[Floats, Floats]  # a weight (out, in) and its bias (out,)


@dataclass(frozen=True)
class ModelSizes:
    """Sizes and variants of a model; what it does not have is 0.

    `cross`: the decoder has cross-attention; `final_norm`: a norm after each stack;
    `biased_norm`: the formula of `BiasedLayerNormalization`.
    """

    d_model: int
    h: int
    d_ff: int
    encoder_layers: int = 0
    decoder_layers: int = 0
    src_vocab: int = 0
    tgt_vocab: int = 0
    src_len: int = 0
    tgt_len: int = 0
    cross: bool = False
    pre_norm: bool = True
    final_norm: bool = True
    biased_norm: bool = False
    activation: str = "relu"
    eps: float = 1e-6
    pad_id: int = -1
    bos_id: int = -1
    eos_id: int = -1

    @property
    def d_k(self) -> int:
        """Features of a head."""
        return self.d_model // self.h

    @property
    def padded(self) -> "PaddedSizes":
        """The sizes of the library's memory."""
        return PaddedSizes(
            width=up(self.h * up(self.d_k, HEAD), BLOCK),
            d_model=up(self.d_model, BLOCK),
            d_ff=up(self.d_ff, BLOCK),
            vocabulary=up(self.tgt_vocab, BLOCK),
        )


@dataclass(frozen=True)
class PaddedSizes:
    """Multiples of 64; `width` is that of all heads together."""

    width: int
    d_model: int
    d_ff: int
    vocabulary: int


@dataclass(frozen=True)
class Tables:
    """What tokens and positions become; None where a model has no such table.

    Shapes: embeddings (vocabulary, d_model), already multiplied by their factor; positions
    (positions, d_model); rotary (positions, 2, d_k / 2), cosines and sines.
    """

    src_embedding: Floats | None = None
    tgt_embedding: Floats | None = None
    src_positions: Floats | None = None
    tgt_positions: Floats | None = None
    rotary: Floats | None = None

    def shapes(self, sizes: ModelSizes) -> dict[str, tuple[int, ...]]:
        """The shape of each table by its name, in the order of the library's arguments."""
        return {
            "src_embedding": (sizes.src_vocab, sizes.d_model),
            "tgt_embedding": (sizes.tgt_vocab, sizes.d_model),
            "src_positions": (sizes.src_len, sizes.d_model),
            "tgt_positions": (sizes.tgt_len, sizes.d_model),
            "rotary": (sizes.src_len, 2, sizes.d_k // 2),
        }


def up(size: int, multiple: int) -> int:
    """The smallest multiple that is not less than the size."""
    return -(-size // multiple) * multiple


class Weights:
    """The tensors of a model under the names of the block files.

    Every method returns contiguous arrays, padded with zeros, and raises a UserError where a
    tensor is missing, has another shape than the sizes demand, or holds NaN or infinity.
    `keep_half`: matrices in float16 stay so, in half the memory; the library widens them exactly.
    """

    def __init__(
        self, sizes: ModelSizes, tensors: Mapping[str, NDArray[Any]], keep_half: bool = False
    ) -> None:
        self.sizes, self.padded, self.tensors = sizes, sizes.padded, tensors
        self.keep_half = keep_half

    def heads_in(self, name: str) -> Pair:
        """W_q, W_k or W_v, each head padded: (width, d_model), (width,)."""
        h, d_k, d, padded = self.sizes.h, self.sizes.d_k, self.sizes.d_model, self.padded
        weight, bias = self._pair(name, (d, d))
        # (h, d_k, d_model) -> (width, d_model)
        rows = pad(weight.reshape(h, d_k, d), (h, up(d_k, HEAD), d)).reshape(-1, d)
        own = pad(bias.reshape(h, d_k), (h, up(d_k, HEAD))).reshape(-1)
        return pad(rows, (padded.width, padded.d_model)), pad(own, (padded.width,))

    def heads_out(self, name: str) -> Pair:
        """W_o, each head padded: (d_model, width), (d_model,)."""
        h, d_k, d, padded = self.sizes.h, self.sizes.d_k, self.sizes.d_model, self.padded
        weight, bias = self._pair(name, (d, d))
        # (d_model, h, d_k) -> (d_model, width)
        columns = pad(weight.reshape(d, h, d_k), (d, h, up(d_k, HEAD))).reshape(d, -1)
        return pad(columns, (padded.d_model, padded.width)), pad(bias, (padded.d_model,))

    def linear_1(self, name: str) -> Pair:
        """The first matrix of a feed-forward block: (d_ff, d_model), (d_ff,)."""
        weight, bias = self._pair(name, (self.sizes.d_ff, self.sizes.d_model))
        return pad(weight, (self.padded.d_ff, self.padded.d_model)), pad(bias, (self.padded.d_ff,))

    def linear_2(self, name: str) -> Pair:
        """The second matrix of a feed-forward block: (d_model, d_ff), (d_model,)."""
        weight, bias = self._pair(name, (self.sizes.d_model, self.sizes.d_ff))
        d_model = self.padded.d_model
        return pad(weight, (d_model, self.padded.d_ff)), pad(bias, (d_model,))

    def projection(self) -> Pair:
        """(vocabulary, d_model), (vocabulary,); a bias of -inf where the padding is no token."""
        weight, bias = self._pair("projection", (self.sizes.tgt_vocab, self.sizes.d_model))
        with_padding = np.full(self.padded.vocabulary, -np.inf, np.float32)
        with_padding[: len(bias)] = bias
        return pad(weight, (self.padded.vocabulary, self.padded.d_model)), with_padding

    def norm(self, name: str) -> Pair:
        """alpha and bias, (d_model,) each; a norm may have one of each for all features."""
        return self._of_norm(f"{name}.alpha"), self._of_norm(f"{name}.bias")

    def _of_norm(self, name: str) -> Floats:
        tensor, wanted = self._tensor(name), (self.sizes.d_model,)
        if tensor.shape not in (wanted, (1,)):
            raise _contradiction(name, tensor.shape, wanted)
        return pad(np.broadcast_to(tensor, wanted), (self.padded.d_model,)).astype(np.float32)

    def tables(self, tables: Tables) -> list[Floats | None]:
        """In the order of the library; a table that two sides share stays one array."""
        known: dict[tuple[int, tuple[int, ...]], Floats] = {}
        padded: list[Floats | None] = []
        for name, shape in tables.shapes(self.sizes).items():
            table: Floats | None = getattr(tables, name)
            key = id(table), shape
            if table is not None and key not in known:
                known[key] = self._table(name, table, shape)
            padded.append(None if table is None else known[key])
        return padded

    def _table(self, name: str, table: Floats, shape: tuple[int, ...]) -> Floats:
        table = np.ascontiguousarray(table, dtype=np.float32)
        if table.shape != shape:
            raise _contradiction(name, table.shape, shape)
        _check_finite(name, table)
        return table if name == "rotary" else pad(table, (len(table), self.padded.d_model))

    def _pair(self, name: str, shape: tuple[int, int]) -> Pair:
        """A weight of this shape and its bias, zeros where it has none."""
        weight = self._tensor(f"{name}.weight")
        if weight.shape != shape:
            raise _contradiction(f"{name}.weight", weight.shape, shape)
        if f"{name}.bias" not in self.tensors:
            return weight, np.zeros(len(weight), np.float32)
        bias = self._tensor(f"{name}.bias").astype(np.float32)
        if bias.shape != shape[:1]:
            raise _contradiction(f"{name}.bias", bias.shape, shape[:1])
        return weight, bias

    def _tensor(self, name: str) -> NDArray[Any]:
        if name not in self.tensors:
            raise UserError(f"the weights lack {name}; copy the model directory again")
        tensor = self.tensors[name]
        is_half = tensor.dtype == np.float16
        array = tensor if is_half and self.keep_half else np.asarray(tensor, dtype=np.float32)
        _check_finite(name, array)
        return array


def pad(array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Zeros after the elements of every axis; contiguous."""
    if array.shape == shape:
        return np.ascontiguousarray(array)
    padded = np.zeros(shape, array.dtype)
    padded[tuple(slice(size) for size in array.shape)] = array
    return padded


def _check_finite(name: str, array: NDArray[Any]) -> None:
    if not np.isfinite(array).all():
        raise UserError(
            f"{name} holds NaN or infinity: the model's weights are damaged or its training "
            "diverged; use another checkpoint"
        )


def _contradiction(name: str, found: tuple[int, ...], wanted: tuple[int, ...]) -> UserError:
    return UserError(f"{name} has shape {found}, config.json says {wanted}; {DIFFERENT_MODELS}")
