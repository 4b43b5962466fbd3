"""Marian in `transformers`: the translation model that Hugging Face users train and call."""

from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from clearhead.compare.ordinary_step import ordinary, precisions
from clearhead.compare.peers import library
from clearhead.compare.race import Contestant
from clearhead.compare.task import Task
from clearhead.models import TransformerConfig

NAME = "transformers Marian"


class Marian(nn.Module):
    """`MarianMTModel` of our sizes. It is post-norm, and its projection has no learnt bias."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.pad_id = config.pad_id
        self.inner = library("transformers").MarianMTModel(marian_config(config))

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """(batch, src_len), (batch, tgt_len) ids -> (batch, tgt_len, vocab)."""
        return self.inner(
            input_ids=src,
            attention_mask=(src != self.pad_id).long(),
            decoder_input_ids=tgt,
            use_cache=False,
        ).logits


def marian_config(config: TransformerConfig) -> Any:
    """Our sizes under Marian's names; the paper's ReLU, dropout wherever ours has it."""
    return library("transformers").MarianConfig(
        vocab_size=config.src_vocab_size,
        decoder_vocab_size=config.tgt_vocab_size,
        max_position_embeddings=max(config.src_seq_len, config.tgt_seq_len),
        d_model=config.d_model,
        encoder_layers=config.encoder_layers,
        decoder_layers=config.decoder_layers,
        encoder_attention_heads=config.h,
        decoder_attention_heads=config.h,
        encoder_ffn_dim=config.d_ff,
        decoder_ffn_dim=config.d_ff,
        activation_function="relu",
        dropout=config.dropout,
        attention_dropout=config.dropout_of("attention"),
        activation_dropout=config.dropout_of("activation"),
        scale_embedding=True,
        share_encoder_decoder_embeddings=config.tie_embeddings,
        tie_word_embeddings=config.tie_embeddings,
        pad_token_id=config.pad_id,
        bos_token_id=config.bos_id,
        eos_token_id=config.eos_id,
        forced_eos_token_id=None,
        decoder_start_token_id=config.bos_id,
    )


def contestants(task: Task) -> Iterator[Contestant]:
    """Its training step."""
    for precision in precisions(task):
        yield ordinary(NAME, Marian(task.config), task, precision)
