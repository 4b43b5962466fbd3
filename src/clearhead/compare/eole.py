"""EOLE, the successor of OpenNMT-py: a toolkit that people train translators with.

It is raced in training only. Its package brings some forty others along
(spaCy, FastAPI, …) and wants another protobuf and sentencepiece than our constraints
name, so it is not in our extra: `pip install eole`, best in an environment of its own.
"""

import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from clearhead.compare.ordinary_step import ordinary, precisions
from clearhead.compare.peers import library
from clearhead.compare.race import Contestant
from clearhead.compare.task import Task
from clearhead.models import TransformerConfig

NAME = "eole"
_PAD = "<blank>"


class Eole(nn.Module):
    """Its `EncoderDecoderModel`, pre-norm, of our sizes and with our biases."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        with warnings.catch_warnings():  # it tells everyone which CUDA extensions are absent
            warnings.simplefilter("ignore")
            build = library("eole.models.model").EncoderDecoderModel
            sizes = library("eole.config.models").TransformerModelConfig(**_sizes(config))
        run = SimpleNamespace(
            dropout=[config.dropout],
            attention_dropout=[config.dropout_of("attention")],
            world_size=1,
            parallel_gpu=1,
        )
        vocabularies = {
            "src": _vocabulary(config, config.src_vocab_size),
            "tgt": _vocabulary(config, config.tgt_vocab_size),
            "specials": {"pad_token": _PAD},
        }
        self.inner = build.build_blocks(sizes, vocabularies, run)
        self.inner.build_generator(sizes, run, vocabularies)
        for parameter in self.inner.parameters():  # the builder leaves some memory as it was
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
            elif not parameter.isfinite().all() or parameter.abs().max() > 1:
                nn.init.zeros_(parameter)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """(batch, src_len), (batch, tgt_len) ids -> (batch, tgt_len, vocab)."""
        # It cuts off the last target token itself, whatever that is.
        target = torch.cat([tgt, tgt[:, -1:]], dim=1)
        lengths = torch.full((len(src),), src.shape[1], device=src.device)
        return self.inner.generator(self.inner(src, target, lengths).dec_out)


def _sizes(config: TransformerConfig) -> dict[str, Any]:
    return {
        "architecture": "transformer",
        "hidden_size": config.d_model,
        "encoder": {"encoder_type": "transformer", "layers": config.encoder_layers},
        "decoder": {"decoder_type": "transformer", "layers": config.decoder_layers},
        "heads": config.h,
        "transformer_ff": config.d_ff,
        "mlp_activation_fn": "relu",
        "embeddings": {
            "position_encoding_type": "SinusoidalInterleaved",
            "word_vec_size": config.d_model,
            "n_positions": max(config.src_seq_len, config.tgt_seq_len),
        },
        "add_qkvbias": True,
        "add_final_linear_bias": True,
        "add_ffnbias": True,
        "generator_bias": True,
    }


def _vocabulary(config: TransformerConfig, size: int) -> dict[str, int]:
    return {_PAD if i == config.pad_id else str(i): i for i in range(size)}


def contestants(task: Task) -> Iterator[Contestant]:
    """Its training step."""
    for precision in precisions(task):
        yield ordinary(NAME, Eole(task.config), task, precision)
