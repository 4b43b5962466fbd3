"""Models that others trained: their files to our models and back, by tables of names."""

from clearhead.pretrained.families import Pretrained
from clearhead.pretrained.loading import from_pretrained
from clearhead.pretrained.saving import save_pretrained
from clearhead.pretrained.together import check_together, load

__all__ = ["Pretrained", "check_together", "from_pretrained", "load", "save_pretrained"]
