"""A small translator for tests, whose sizes all differ."""

from clearhead.models import TransformerConfig

TINY = TransformerConfig(
    src_vocab_size=41,
    tgt_vocab_size=41,
    src_seq_len=80,
    tgt_seq_len=80,
    d_model=48,
    encoder_layers=2,
    decoder_layers=2,
    h=3,
    d_ff=192,
    dropout=0.1,
    tie_embeddings=True,
)
