"""The tasks that a recipe can name, one file each."""

from clearhead.training.recipe import Recipe
from clearhead.training.recipe_file import RECIPES
from clearhead.training.task import Task
from clearhead.training.tasks.causal import Causal
from clearhead.training.tasks.classification import Classification, Tagging
from clearhead.training.tasks.masked import Masked
from clearhead.training.tasks.translation import Translation

TASKS: dict[str, type[Task]] = {
    "translation": Translation,
    "causal": Causal,
    "masked": Masked,
    "classification": Classification,
    "tagging": Tagging,
}


def register(name: str, recipe: type[Recipe], task: type[Task]) -> None:
    """Add a task of another package; recipes name it, and it is trained and resumed as ours."""
    RECIPES[name] = recipe
    TASKS[name] = task
