"""Random tiny models of every family as arrays, without torch."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clearhead.native.model import NativeModel
from clearhead.native.weights import ACTIVATIONS, Floats, ModelSizes, Tables

KINDS = ("translator", "decoder", "encoder", "rotary encoder")


@dataclass(frozen=True)
class Parts:
    """What `NativeModel` takes."""

    sizes: ModelSizes
    tensors: dict[str, NDArray[Any]]
    tables: Tables

    def packed(self, int8: bool, kernels: str) -> NativeModel:
        return NativeModel(self.sizes, self.tensors, self.tables, int8, kernels)


def random_sizes(rng: np.random.Generator, kind: str) -> ModelSizes:
    """Few and odd sizes; those of parts that the kind does not have are 0."""
    reads, writes = kind != "decoder", kind in ("translator", "decoder")
    h = int(rng.integers(1, 5))
    vocabulary = int(rng.integers(4, 150))
    special = rng.permutation(4).tolist()
    return ModelSizes(
        d_model=h * int(rng.choice([2, 4, 6, 10, 18, 34])),
        h=h,
        d_ff=int(rng.integers(1, 80)),
        encoder_layers=int(rng.integers(1, 3)) if reads else 0,
        decoder_layers=int(rng.integers(1, 3)) if writes else 0,
        src_vocab=vocabulary if kind == "translator" else 0,
        tgt_vocab=int(rng.integers(4, 150)) if writes else 0,
        src_len=int(rng.choice([75, rng.integers(1, 12)], p=[0.15, 0.85])) if reads else 0,
        tgt_len=int(rng.integers(1, 12)) if writes else 0,
        cross=kind == "translator",
        pre_norm=bool(rng.integers(2)),
        final_norm=bool(rng.integers(2)),
        biased_norm=bool(rng.integers(2)),
        activation=str(rng.choice(list(ACTIVATIONS))),
        pad_id=special[0],
        bos_id=special[int(rng.integers(2))],  # Marian's BOS token is its padding token
        eos_id=special[2],
    )


def random_parts(rng: np.random.Generator, kind: str) -> Parts:
    """Weights from a normal distribution, of a size at which the activations stay moderate."""
    sizes = random_sizes(rng, kind)

    def normal(*shape: int) -> Floats:
        return rng.normal(scale=0.4, size=shape).astype(np.float32)

    tensors: dict[str, NDArray[Any]] = {n: normal(*shape) for n, shape in _shapes(sizes).items()}
    if rng.integers(2):  # as in saved models
        matrices = [name for name, tensor in tensors.items() if tensor.ndim == 2]
        tensors |= {name: tensors[name].astype(np.float16) for name in matrices}
    tables = Tables()
    if sizes.tgt_vocab:
        embedding, positions = (sizes.tgt_vocab, sizes.d_model), (sizes.tgt_len, sizes.d_model)
        tables = Tables(tgt_embedding=normal(*embedding), tgt_positions=normal(*positions))
    if sizes.src_vocab:
        embedding, positions = (sizes.src_vocab, sizes.d_model), (sizes.src_len, sizes.d_model)
        tables = Tables(
            normal(*embedding), tables.tgt_embedding, normal(*positions), tables.tgt_positions
        )
    if kind == "rotary encoder":
        tables = Tables(rotary=normal(sizes.src_len, 2, sizes.d_k // 2))
    return Parts(sizes, tensors, tables)


def _shapes(sizes: ModelSizes) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {}
    for layer in range(sizes.encoder_layers):
        shapes |= _layer(sizes, f"encoder.layers.{layer}", ["self"])
    for layer in range(sizes.decoder_layers):
        attention = ["self", "cross"] if sizes.cross else ["self"]
        shapes |= _layer(sizes, f"decoder.layers.{layer}", attention)
    for side in ("encoder", "decoder"):
        shapes |= {f"{side}.norm.{part}": (sizes.d_model,) for part in ("alpha", "bias")}
    return shapes | _linear("projection", sizes.tgt_vocab, sizes.d_model)


def _layer(sizes: ModelSizes, name: str, attention: list[str]) -> dict[str, tuple[int, ...]]:
    d, d_ff = sizes.d_model, sizes.d_ff
    shapes: dict[str, tuple[int, ...]] = {}
    for block in attention:
        for part in ("w_q", "w_k", "w_v", "w_o"):
            shapes |= _linear(f"{name}.{block}_attention_block.{part}", d, d)
    shapes |= _linear(f"{name}.feed_forward_block.linear_1", d_ff, d)
    shapes |= _linear(f"{name}.feed_forward_block.linear_2", d, d_ff)
    for norm in range(len(attention) + 1):
        for part in ("alpha", "bias"):
            shapes[f"{name}.residual_connections.{norm}.norm.{part}"] = (d,)
    return shapes


def _linear(name: str, out: int, in_: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (out, in_), f"{name}.bias": (out,)}
