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
    "PRESETS", "Bert", "BertConfig", "Esm", "EsmConfig", "Gpt", "GptConfig", "Marian",
    "MarianConfig", "SentenceEmbedding", "Transformer", "TransformerConfig", "build_transformer",
    "count_parameters", "masked_mean", "tree",
]  # fmt: skip

__getattr__ = attributes_of(
    __name__,
    {
        "clearhead.models.architecture": ["count_parameters", "tree"],
        "clearhead.models.bert": ["Bert", "BertConfig", "SentenceEmbedding", "masked_mean"],
        "clearhead.models.config": ["PRESETS", "TransformerConfig"],
        "clearhead.models.esm": ["Esm", "EsmConfig"],
        "clearhead.models.gpt": ["Gpt", "GptConfig"],
        "clearhead.models.marian": ["Marian", "MarianConfig"],
        "clearhead.models.transformer": ["Transformer", "build_transformer"],
    },
)
