"""Small random torch models whose sizes all differ, for comparison with the native engine.

d_model is not a multiple of 64, d_k not of 16 and no vocabulary of 64, so every kind of padding
occurs. The weights are large, so that different sources get different translations.
"""

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
import torch
from torch import nn

from clearhead.models import Transformer, TransformerConfig
from clearhead.models.bert import Bert, BertConfig
from clearhead.models.esm import Esm, EsmConfig
from clearhead.models.gpt import Gpt, GptConfig
from clearhead.models.marian import Marian, MarianConfig
from clearhead.models.native import FAMILIES, Parts
from clearhead.native.model import NativeModel

# Texts of more than 28 and of more than 64 tokens are attended to in other ways than short ones.
SRC_VOCAB, TGT_VOCAB, SRC_LEN, TGT_LEN = 71, 133, 83, 37
SIZES = {"d_model": 60, "h": 3, "d_ff": 100}  # d_k = 20
# Seeds with which some sentences end and others reach their limit, and few come out alike.
SEEDS = {"pre-norm": (3, 7), "post-norm": (1, 3), "Marian": (8, 9)}
TRANSLATORS = tuple(SEEDS)
Model = TypeVar("Model", bound=nn.Module)


def translator(kind: str = "pre-norm", number: int = 0) -> Transformer:
    """Two encoder layers, three decoder layers; Marian shares one vocabulary."""
    torch.manual_seed(SEEDS[kind][number])
    layers = {"encoder_layers": 2, "decoder_layers": 3}
    positions = {"src_seq_len": SRC_LEN, "tgt_seq_len": TGT_LEN}
    if kind == "Marian":
        special = {"pad_id": TGT_VOCAB - 1, "bos_id": TGT_VOCAB - 1, "eos_id": 0}
        marian = MarianConfig(
            TGT_VOCAB, TGT_VOCAB, **positions, **SIZES, **layers, **special, initial_std=0.2
        )
        return _inclined_to_end(_with_larger_weights(Marian.from_config(marian)), 2.5)
    norm = "pre" if kind == "pre-norm" else "post"
    config = TransformerConfig(SRC_VOCAB, TGT_VOCAB, **positions, **SIZES, **layers, norm=norm)
    model = _with_larger_weights(Transformer.from_config(config))
    return _inclined_to_end(model, 3.0 if norm == "pre" else 5.0)


def small(**more: Any) -> Transformer:
    """One layer a side and 20 tokens."""
    torch.manual_seed(0)
    sizes = {"d_model": 24, "encoder_layers": 1, "decoder_layers": 1, "h": 4, "d_ff": 64}
    sizes |= {"src_seq_len": 30, "tgt_seq_len": 30} | more
    return Transformer.from_config(TransformerConfig(20, 20, dropout=0.0, **sizes)).eval()


def _inclined_to_end(model: Transformer, bias: float) -> Transformer:
    """EOS gets this bias, so that some sentences end and others reach their limit."""
    with torch.no_grad():
        model.tgt_embed.embedding.weight *= 0.5  # a tied projection would repeat the last token
        model.projection_layer.proj.bias[model.config.eos_id] += bias
    return model


def gpt(seed: int = 1) -> Gpt:
    torch.manual_seed(seed)
    config = GptConfig(TGT_VOCAB, seq_len=TGT_LEN, layers=3, **SIZES, bos_id=None, eos_id=None)
    return _with_larger_weights(Gpt.from_config(config))


def bert(seed: int = 1) -> Bert:
    torch.manual_seed(seed)
    config = BertConfig(TGT_VOCAB, seq_len=SRC_LEN, layers=2, **SIZES, heads=("masked_lm",))
    return _with_larger_weights(Bert.from_config(config))


def esm(seed: int = 1) -> Esm:
    torch.manual_seed(seed)
    config = EsmConfig(seq_len=SRC_LEN, layers=2, **SIZES, heads=("masked_lm",))
    return _with_larger_weights(Esm.from_config(config))


def random_sources(model: Transformer, count: int, seed: int = 1) -> list[list[int]]:
    """Sources of 1 to SRC_LEN tokens that end with EOS, none of the others a special token."""
    rng, config = np.random.default_rng(seed), model.config
    special = {config.pad_id, config.bos_id, config.eos_id}
    tokens = [token for token in range(config.src_vocab_size) if token not in special]
    lengths = rng.integers(0, rng.choice([25, SRC_LEN], p=[0.8, 0.2], size=count))
    return [[*rng.choice(tokens, size=n).tolist(), config.eos_id] for n in lengths]


def in_float16(parts: Parts) -> Parts:
    """The same sizes and tables; weights of matrices rounded to float16, as in saved models."""
    sizes, tensors, tables = parts
    rounded = {
        name: tensor.astype(np.float16) if tensor.ndim == 2 else tensor
        for name, tensor in tensors.items()
    }
    return sizes, rounded, tables


def with_float16_weights(model: Transformer, kernels: str = "") -> NativeModel:
    return NativeModel(*in_float16(FAMILIES[Transformer](model)), kernels=kernels)


def cross_attention_blocks(model: Transformer) -> Iterator[nn.Module]:
    for layer in model.decoder.layers:
        yield layer.cross_attention_block


def _with_larger_weights(model: Model) -> Model:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.15 * torch.randn_like(parameter)
    return model.eval()
