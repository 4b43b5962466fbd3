"""An untrained translator in which no two axes have the same size."""

from functools import cache

import torch

from clearhead.models import Transformer, TransformerConfig
from clearhead.text import Tokenizer
from clearhead.translation import Translator

ENCODER_LAYERS, DECODER_LAYERS, HEADS, D_MODEL, POSITIONS = 3, 2, 4, 20, 40
SOURCE, TARGET = "the small dog sees a cat.", "le petit chien voit."
LINES = [
    "the small dog sees a cat.",
    "le petit chien voit un chat.",
    "a cat sees the small dog.",
    "un chat voit le petit chien.",
]


@cache
def tokenizer() -> Tokenizer:
    """Whole words of the lines, and bytes for the rest."""
    return Tokenizer.train(LINES * 3, 400)


def config(dropout: float = 0.1) -> TransformerConfig:
    """Asymmetric sizes."""
    size = tokenizer().vocab_size
    return TransformerConfig(
        src_vocab_size=size,
        tgt_vocab_size=size,
        src_seq_len=POSITIONS,
        tgt_seq_len=POSITIONS,
        d_model=D_MODEL,
        encoder_layers=ENCODER_LAYERS,
        decoder_layers=DECODER_LAYERS,
        h=HEADS,
        d_ff=28,
        dropout=dropout,
        tie_embeddings=True,
    )


def model(seed: int = 3) -> Transformer:
    """Random weights, large enough that no attention is uniform."""
    torch.manual_seed(seed)
    made = Transformer.from_config(config())
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            if "w_q" in name or "w_k" in name:
                parameter.mul_(2.0)
    return made.eval()


def translator(seed: int = 3) -> Translator:
    """A translator with a new model."""
    return Translator(model(seed), tokenizer())
