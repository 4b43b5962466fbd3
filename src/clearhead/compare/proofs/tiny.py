"""Whole models for proofs: small, random, every size another."""

from typing import Literal, TypeVar

import torch
from torch import Tensor, nn

from clearhead.blocks import LayerNormalization, decoder_mask, padding_mask
from clearhead.models import Transformer, TransformerConfig

Model = TypeVar("Model", bound=nn.Module)


def tiny(norm: Literal["pre", "post"], dtype: torch.dtype, eps: float = 0.0) -> Transformer:
    """2 + 3 layers, 3 heads of 4, two vocabularies; its norms divide by sigma + eps."""
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
        tie_embeddings=False,
    )
    model = Transformer.from_config(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.3)
    return without_epsilon(model.to(dtype), eps)


def without_epsilon(model: Model, eps: float = 0.0) -> Model:
    """Epsilon stands inside the root with some and outside with others; tiny, it is no matter."""
    for module in model.modules():
        if isinstance(module, LayerNormalization | nn.LayerNorm):
            module.eps = eps
    return model


def batch(model: Transformer, length: int = 5) -> tuple[Tensor, Tensor]:
    """4 sources of up to 7 ids, two of them padded, and 4 targets."""
    c = model.config
    src, tgt = torch.randint(3, c.src_vocab_size, (4, 7)), torch.randint(3, 23, (4, length))
    src[1, 4:] = src[3, 6:] = c.pad_id
    tgt[:, 0] = c.bos_id
    return src, tgt


def read(model: Transformer, src: Tensor) -> tuple[Tensor, Tensor]:
    """The memory, (batch, src_len, d_model), and the mask of the source."""
    mask = padding_mask(src, model.config.pad_id)
    return model.encode(src, mask), mask


def logits(model: Transformer, src: Tensor, tgt: Tensor) -> Tensor:
    """(batch, tgt_len, vocab) of the readable model, before the softmax."""
    memory, mask = read(model, src)
    hidden = model.decode(memory, mask, tgt, decoder_mask(tgt, model.config.pad_id))
    return model.projection_layer.get_submodule("proj")(hidden)
