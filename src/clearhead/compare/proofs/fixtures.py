"""Inputs, masks and small models for the proofs; no two sizes are equal."""

from collections.abc import Iterable
from typing import Literal, TypeVar

import torch
from torch import Tensor, nn

from clearhead.blocks import LayerNormalization, decoder_mask, look_ahead_mask, padding_mask
from clearhead.models import Transformer, TransformerConfig

Model = TypeVar("Model", bound=nn.Module)
NormPosition = Literal["pre", "post"]
NORM_POSITIONS: tuple[NormPosition, ...] = ("pre", "post")
BATCH, HEADS, QUERY, KEY, D_K, D_FF = 3, 4, 5, 6, 7, 11
D_MODEL = HEADS * D_K


def real_positions(lengths: Iterable[int], longest: int) -> Tensor:
    """True at tokens, False at padding: (batch, longest)."""
    return torch.arange(longest)[None, :] < torch.tensor(list(lengths))[:, None]


SOURCE, TARGET = real_positions((6, 2, 4), KEY), real_positions((5, 3, 1), QUERY)
SOURCE_MASK = SOURCE[:, None, None, :]
TARGET_MASK = TARGET[:, None, None, :] & look_ahead_mask(QUERY)
MASKS: dict[str, Tensor | None] = {
    "none": None,
    "padding": SOURCE_MASK,
    "look-ahead": look_ahead_mask(KEY)[..., :QUERY, :],
    "both": SOURCE_MASK & look_ahead_mask(KEY)[..., :QUERY, :],
}


def queries_keys_values(dtype: torch.dtype) -> list[Tensor]:
    """(batch, query, d_model), 2 × (batch, key, d_model)."""
    return [torch.randn(BATCH, length, D_MODEL, dtype=dtype) for length in (QUERY, KEY, KEY)]


def source(dtype: torch.dtype) -> Tensor:
    """(batch, key, d_model)."""
    return torch.randn(BATCH, KEY, D_MODEL, dtype=dtype)


def target(dtype: torch.dtype) -> Tensor:
    """(batch, query, d_model)."""
    return torch.randn(BATCH, QUERY, D_MODEL, dtype=dtype)


def torch_mask(mask: Tensor | None) -> Tensor | None:
    """Our mask in the convention of torch.nn: True = hidden, (batch · h, query, key)."""
    return None if mask is None else ~mask.expand(BATCH, HEADS, QUERY, KEY).flatten(0, 1)


def small_transformer(norm: NormPosition, dtype: torch.dtype, eps: float = 0.0) -> Transformer:
    """2 + 3 layers, 3 heads of 4, two vocabularies, random weights; norms have this epsilon."""
    config = TransformerConfig(
        src_vocab_size=29,
        tgt_vocab_size=23,
        src_seq_len=17,
        tgt_seq_len=31,
        d_model=12,
        encoder_layers=2,
        decoder_layers=3,
        h=3,
        d_ff=20,
        norm=norm,
        dropout=0.0,
    )
    model = Transformer.from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.3)
    return with_epsilon(model.to(dtype), eps)


def with_epsilon(model: Model, eps: float = 0.0) -> Model:
    """Set the epsilon of all norms; at 0 it does not matter whether it is inside the root."""
    for module in model.modules():
        if isinstance(module, LayerNormalization | nn.LayerNorm):
            module.eps = eps
    return model


def small_batch(model: Transformer, length: int = 5) -> tuple[Tensor, Tensor]:
    """4 sources of up to 7 ids, two of them padded, and 4 targets of `length` ids."""
    c = model.config
    src, tgt = torch.randint(3, c.src_vocab_size, (4, 7)), torch.randint(3, 23, (4, length))
    src[1, 4:] = src[3, 6:] = c.pad_id
    tgt[:, 0] = c.bos_id
    return src, tgt


def encode(model: Transformer, src: Tensor) -> tuple[Tensor, Tensor]:
    """The encoder output, (batch, src_len, d_model), and the source mask."""
    mask = padding_mask(src, model.config.pad_id)
    return model.encode(src, mask), mask


def decode(model: Transformer, src: Tensor, tgt: Tensor) -> Tensor:
    """The decoder output, (batch, tgt_len, d_model)."""
    memory, mask = encode(model, src)
    return model.decode(memory, mask, tgt, decoder_mask(tgt, model.config.pad_id))


def logits(model: Transformer, src: Tensor, tgt: Tensor) -> Tensor:
    """(batch, tgt_len, vocab), before the softmax."""
    return model.projection_layer.get_submodule("proj")(decode(model, src, tgt))
