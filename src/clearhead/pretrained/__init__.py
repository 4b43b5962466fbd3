"""Loading and saving of models in the Hugging Face layout, by tables of names."""

from clearhead.pretrained.loading import Pretrained, check_together, from_pretrained, load
from clearhead.pretrained.saving import save_pretrained
from clearhead.pretrained.teaching import from_state_dict

__all__ = [
    "Pretrained", "check_together", "from_pretrained", "from_state_dict", "load", "save_pretrained",
]  # fmt: skip
