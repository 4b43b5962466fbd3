"""Loading and saving of models in the Hugging Face layout, by tables of names."""

from typing import TYPE_CHECKING

from clearhead.lazy import attributes_of

if TYPE_CHECKING:  # for editors and type checkers
    from clearhead.pretrained.loading import Pretrained, check_together, from_pretrained, load
    from clearhead.pretrained.saving import save_pretrained
    from clearhead.pretrained.teaching import from_state_dict

__all__ = [
    "Pretrained",
    "check_together",
    "from_pretrained",
    "from_state_dict",
    "load",
    "save_pretrained",
]

__getattr__ = attributes_of(
    __name__,
    {
        "clearhead.pretrained.loading": ["Pretrained", "check_together", "from_pretrained", "load"],
        "clearhead.pretrained.saving": ["save_pretrained"],
        "clearhead.pretrained.teaching": ["from_state_dict"],
    },
)
