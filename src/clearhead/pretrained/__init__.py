"""Models that others trained: their files to our models and back, by tables of names."""

from clearhead.pretrained.loading import from_pretrained
from clearhead.pretrained.saving import save_pretrained

__all__ = ["from_pretrained", "save_pretrained"]
