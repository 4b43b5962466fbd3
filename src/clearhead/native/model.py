"""A model's weights in the layout of the library."""

import ctypes
import threading
from collections.abc import Mapping
from itertools import count, takewhile
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from clearhead.errors import UserError
from clearhead.native.library import SIZE_NAMES, Sizes, address, library
from clearhead.native.weights import ACTIVATIONS, ModelSizes, Pair, Tables, Weights

# The matrices of a layer by their numbers in weights.c, and the projections that each is made of.
SELF_ATTENTION = {0: ("w_q", "w_k", "w_v"), 1: ("w_o",)}
CROSS_ATTENTION = {2: ("w_q",), 3: ("w_k", "w_v"), 4: ("w_o",)}
LINEAR_1, LINEAR_2, PROJECTION = 5, 6, 7


class NativeModel:
    """The weights of a Transformer, packed for the processor; free of torch.

    `tensors` holds them under the names of the block files, ``encoder.layers.0.…`` and
    ``decoder.layers.0.…``, with ``encoder.norm``, ``decoder.norm`` and ``projection.weight`` and
    ``.bias``. `kernels` forces an instruction set. `width`, `d_model` and `vocabulary` are padded.

    Raises:
        UserError: there is no library, the sizes contradict the tensors, or a weight is not finite.
    """

    def __init__(
        self,
        sizes: ModelSizes,
        tensors: Mapping[str, NDArray[np.generic]],
        tables: Tables,
        int8: bool = False,
        kernels: str = "",
    ) -> None:
        self.sizes, self.int8, self.library = sizes, int8, library()
        self.is_wide, self._widening = False, threading.Lock()
        self.handle = self._new_handle(kernels)
        padded, weights = sizes.padded, Weights(sizes, tensors, keep_half=not int8)
        self.width, self.d_model, self.vocabulary = padded.width, padded.d_model, padded.vocabulary
        self.tables = weights.tables(tables)  # the library borrows their memory
        self._check_tables(tables)
        self.library.clearhead_set_tables(self.handle, *map(address, self.tables))
        self._set_layers(weights)
        if sizes.tgt_vocab:
            self._set_linear(0, PROJECTION, weights.projection())

    def _new_handle(self, kernels: str) -> int:
        if kernels and kernels not in kernel_names():
            raise UserError(
                f"there are no kernels {kernels!r} for this processor; "
                f"give one of {', '.join(kernel_names())}"
            )
        sizes = self.sizes
        fields = {name: getattr(sizes, name) for name in SIZE_NAMES if hasattr(sizes, name)}
        fields |= {"activation": ACTIVATIONS.get(sizes.activation, -1), "int8": self.int8}
        fits = all(abs(value) < 2**31 for value in fields.values())  # ctypes would drop bits
        made = fits and self.library.clearhead_model_new(
            ctypes.byref(Sizes(**fields)), kernels.encode()
        )
        if not made:
            raise UserError(
                f"the native engine cannot run a model of these sizes: {sizes}; "
                "check config.json, or give --engine readable"
            )
        return int(made)

    def widen(self) -> None:
        """Add float32 weights beside float16 ones, once."""
        with self._widening:
            if not self.int8 and not self.is_wide:
                self.library.clearhead_widen(self.handle)
                self.is_wide = True

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self.library.clearhead_model_free(self.handle)
            self.handle = 0

    def __reduce__(self) -> NoReturn:
        raise UserError(
            "the weights of the native engine cannot be pickled or copied; load the model "
            "again, in each process that uses it"
        )

    def _check_tables(self, tables: Tables) -> None:
        """Tokens of a vocabulary need an embedding and positions."""
        sizes = self.sizes
        read = {"src": sizes.src_vocab and sizes.src_len, "tgt": sizes.tgt_vocab and sizes.tgt_len}
        for side in (side for side, positions in read.items() if positions):
            for name in (f"{side}_embedding", f"{side}_positions"):
                if getattr(tables, name) is None:
                    raise UserError(f"the weights lack {name}; copy the model directory again")

    def _set_layers(self, weights: Weights) -> None:
        sizes, number = self.sizes, 0
        for side, layers in (("encoder", sizes.encoder_layers), ("decoder", sizes.decoder_layers)):
            for layer in range(layers):
                cross = side == "decoder" and sizes.cross
                self._set_layer(number, f"{side}.layers.{layer}", cross, weights)
                number += 1
            if layers and sizes.final_norm:
                final = -1 if side == "encoder" else -2
                self._set_norm(final, 0, weights.norm(f"{side}.norm"))

    def _set_layer(self, number: int, name: str, cross: bool, weights: Weights) -> None:
        blocks = [("self_attention_block", SELF_ATTENTION)]
        blocks += [("cross_attention_block", CROSS_ATTENTION)] if cross else []
        for block, matrices in blocks:
            for which, parts in matrices.items():
                read = weights.heads_out if parts == ("w_o",) else weights.heads_in
                pairs = [read(f"{name}.{block}.{part}") for part in parts]
                weight = np.concatenate([weight for weight, _ in pairs])
                bias = np.concatenate([bias for _, bias in pairs])
                self._set_linear(number, which, (weight, bias))
        feed_forward = f"{name}.feed_forward_block"
        self._set_linear(number, LINEAR_1, weights.linear_1(f"{feed_forward}.linear_1"))
        self._set_linear(number, LINEAR_2, weights.linear_2(f"{feed_forward}.linear_2"))
        for which in range(3 if cross else 2):
            norm = weights.norm(f"{name}.residual_connections.{which}.norm")
            self._set_norm(number, which, norm)

    def _set_linear(self, layer: int, which: int, pair: Pair) -> None:
        weight, bias = pair
        half = weight.dtype == np.float16
        self.library.clearhead_set_linear(
            self.handle, layer, which, address(weight), half, address(bias), *weight.shape
        )

    def _set_norm(self, layer: int, which: int, pair: Pair) -> None:
        alpha, bias = pair
        self.library.clearhead_set_norm(
            self.handle, layer, which, address(alpha), address(bias), len(alpha)
        )


def kernel_names() -> list[str]:
    """The instruction sets that can run here, fastest first."""
    names = (library().clearhead_kernels(number) for number in count())
    return [name.decode() for name in takewhile(bool, names)]
