"""Assemblies of blocks."""

from typing import TYPE_CHECKING

from clearhead.lazy import attributes_of

if TYPE_CHECKING:  # for editors and type checkers, which run nothing
    from clearhead.models.architecture import count_parameters, tree
    from clearhead.models.bert import Bert, BertConfig, SentenceEmbedding, masked_mean
    from clearhead.models.config import PRESETS, TransformerConfig
    from clearhead.models.esm import Esm, EsmConfig
    from clearhead.models.gpt import Gpt, GptConfig
    from clearhead.models.marian import Marian, MarianConfig
    from clearhead.models.transformer import Transformer, build_transformer

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

__getattr__ = attributes_of(
    __name__,
    {
        "Bert": "clearhead.models.bert",
        "BertConfig": "clearhead.models.bert",
        "Esm": "clearhead.models.esm",
        "EsmConfig": "clearhead.models.esm",
        "Gpt": "clearhead.models.gpt",
        "GptConfig": "clearhead.models.gpt",
        "Marian": "clearhead.models.marian",
        "MarianConfig": "clearhead.models.marian",
        "PRESETS": "clearhead.models.config",
        "SentenceEmbedding": "clearhead.models.bert",
        "Transformer": "clearhead.models.transformer",
        "TransformerConfig": "clearhead.models.config",
        "build_transformer": "clearhead.models.transformer",
        "count_parameters": "clearhead.models.architecture",
        "masked_mean": "clearhead.models.bert",
        "tree": "clearhead.models.architecture",
    },
)
