"""The widths that are compared: translators on a ladder, and models of genomes as published."""

from dataclasses import dataclass

from clearhead.models import TransformerConfig
from clearhead.models.bert import BertConfig

WIDTHS = (128, 256, 384, 512, 768)
D_K, LAYERS = 64, 2


def translator(d_model: int, vocabulary: int, layers: int = LAYERS) -> TransformerConfig:
    """Only the width moves: heads of 64, a feed-forward four times as wide, tied tables."""
    return TransformerConfig(
        vocabulary,
        vocabulary,
        src_seq_len=128,
        tgt_seq_len=128,
        d_model=d_model,
        encoder_layers=layers,
        decoder_layers=layers,
        h=max(1, d_model // D_K),
        d_ff=4 * d_model,
        dropout=0.1,
        tie_embeddings=True,
    )


@dataclass(frozen=True)
class Published:
    """A model that others trained, by its sizes."""

    name: str
    reads: str
    config: BertConfig


# DNABERT: Ji et al. 2021, words of 6 bases (4^6 and 5 signs). Geneformer: Theodoris et al. 2023,
# a word is a gene, a text is a cell's genes by rank; both sizes of its first release.
GENOMICS = (
    Published("DNABERT", "DNA in words of 6 bases", BertConfig(vocab_size=4101)),
    Published(
        "Geneformer, 12 layers",
        "genes of a cell by rank",
        BertConfig(25426, 2048, 512, layers=12, h=8, d_ff=1024, activation="relu"),
    ),
    Published(
        "Geneformer, 6 layers",
        "genes of a cell by rank",
        BertConfig(25426, 2048, 256, layers=6, h=4, d_ff=512, activation="relu"),
    ),
)
