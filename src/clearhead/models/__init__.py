"""Assemblies of blocks."""

from clearhead.models.bert import Bert, BertConfig
from clearhead.models.config import PRESETS, TransformerConfig
from clearhead.models.esm import Esm, EsmConfig
from clearhead.models.gpt import Gpt, GptConfig
from clearhead.models.marian import Marian, MarianConfig
from clearhead.models.sentence_embedding import SentenceEmbedding, masked_mean
from clearhead.models.transformer import Transformer, build_transformer
from clearhead.models.tree import count_parameters, tree

__all__ = [
    "PRESETS",
    "Bert",
    "BertConfig",
    "Esm",
    "EsmConfig",
    "Gpt",
    "GptConfig",
    "Marian",
    "MarianConfig",
    "SentenceEmbedding",
    "Transformer",
    "TransformerConfig",
    "build_transformer",
    "count_parameters",
    "masked_mean",
    "tree",
]
