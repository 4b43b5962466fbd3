"""Tasks by the names of `transformers`: fill-mask, embeddings, classification, generation …"""

from clearhead.pipelines.factory import pipeline

__all__ = ["pipeline"]
