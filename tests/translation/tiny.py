"""A translator that knows nothing, with a tokenizer trained on the spot."""

from functools import cache
from pathlib import Path

import torch

from clearhead.models import Transformer, TransformerConfig
from clearhead.text import Tokenizer
from clearhead.translation import Translator

LINES = [
    "Hello world, how are you? I am fine. The cat is on the table.",
    "Bonjour le monde, comment allez-vous ? Je vais bien. Le chat est sur la table.",
]
SRC_SEQ_LEN, TGT_SEQ_LEN = 24, 20


@cache
def parts() -> tuple[Transformer, Tokenizer]:
    """The model and its tokenizer, made once."""
    tokenizer = Tokenizer.train(LINES * 4, 330)
    torch.manual_seed(3)
    config = TransformerConfig(
        src_vocab_size=tokenizer.vocab_size,
        tgt_vocab_size=tokenizer.vocab_size,
        src_seq_len=SRC_SEQ_LEN,
        tgt_seq_len=TGT_SEQ_LEN,
        d_model=12,
        encoder_layers=1,
        decoder_layers=2,
        h=3,
        d_ff=20,
        tie_embeddings=True,
    )
    model = Transformer.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
        model.projection_layer.proj.bias[3:259] -= 8.0  # rather words than single bytes
    return model, tokenizer


def translator(split_sentences: bool = True, refuse_long: bool = False) -> Translator:
    """Around the one model."""
    return Translator(*parts(), split_sentences, refuse_long)


def save(directory: Path) -> Path:
    """As a model directory."""
    model, tokenizer = parts()
    model.save_pretrained(directory)
    tokenizer.save(directory)
    return directory
