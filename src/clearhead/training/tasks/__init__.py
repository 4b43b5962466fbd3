"""The tasks that a recipe can name, one file each."""

from collections.abc import Mapping

from clearhead.training.task import Kind
from clearhead.training.tasks.causal import Causal
from clearhead.training.tasks.classification import Classification
from clearhead.training.tasks.masked import Masked
from clearhead.training.tasks.tagging import Tagging
from clearhead.training.tasks.translation import Translation

TASKS: Mapping[str, Kind] = {
    "translation": Translation,
    "causal": Causal,
    "masked": Masked,
    "classification": Classification,
    "tagging": Tagging,
}

__all__ = ["TASKS"]
