"""What users ask of a model, by the names they know: fill-mask, embeddings, classification …"""

from clearhead.pipelines.factory import pipeline

__all__ = ["pipeline"]
