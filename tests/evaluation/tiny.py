"""An untrained translator of the grammar corpus, with a tokenizer trained for the tests."""

from functools import cache
from itertools import islice
from pathlib import Path

import torch

from clearhead.data.grammar import GrammarPair, generate
from clearhead.models import Transformer, TransformerConfig
from clearhead.text import Tokenizer

LAYERS, HEADS = 2, 3


@cache
def pairs(split: str = "test", count: int = 12) -> list[GrammarPair]:
    """The first sentences of a split."""
    return list(islice(generate(split), count))


@cache
def tokenizer() -> Tokenizer:
    """Trained on the grammar's words."""
    return Tokenizer.train([text for pair in pairs("train", 200) for text in pair[:2]], 500)


@cache
def model(positions: int = 96) -> Transformer:
    """Random weights, `positions` source and target positions."""
    torch.manual_seed(5)
    size = tokenizer().vocab_size
    config = TransformerConfig(
        src_vocab_size=size,
        tgt_vocab_size=size,
        src_seq_len=positions,
        tgt_seq_len=positions,
        d_model=12,
        encoder_layers=1,
        decoder_layers=LAYERS,
        h=HEADS,
        d_ff=20,
        tie_embeddings=True,
    )
    return Transformer.from_config(config).eval()


def save(directory: Path) -> Path:
    """Save as a model directory."""
    model().save_pretrained(directory)
    tokenizer().save(directory)
    return directory
