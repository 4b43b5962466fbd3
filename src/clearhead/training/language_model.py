"""Where a language model's weights come from (chance, another model, the run), where they go."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import nn

from clearhead.data.texts import Texts
from clearhead.errors import UserError
from clearhead.pretrained import from_pretrained, save_pretrained
from clearhead.pretrained.hub import directory_of
from clearhead.text.fast_tokenizer import FastTokenizer
from clearhead.text.learning import save_older_layout
from clearhead.training.language_recipe import LanguageRecipe
from clearhead.training.run_directory import RunDirectory

Model = TypeVar("Model", bound=nn.Module)


def begun_model(
    recipe: LanguageRecipe, run: RunDirectory, kind: type[Model], fresh: Callable[[], Model]
) -> Model:
    """A fresh model, or the one of `model.path`, which on a resumption may have moved.

    Raises:
        UserError: that is a model of another kind.
    """
    if not recipe.model.path:
        return fresh()
    origin = run.last if run.resumable else directory_of(recipe.model.path)
    model: Any = from_pretrained(origin)
    if not isinstance(model, kind):
        raise UserError(
            f"{origin} holds a {type(model).__name__}, and task={recipe.task} trains a "
            f"{kind.__name__}; give another model.path or another task"
        )
    return model


def check_language(recipe: LanguageRecipe, config: Callable[..., Any]) -> None:
    """Refuse what can be refused before a run directory is touched."""
    for spec in (recipe.data.train, recipe.data.dev or recipe.data.train):
        Texts(spec, recipe.data.unit)
    m = recipe.model
    if m.path:
        directory_of(m.path)
    else:
        sizes = config(vocab_size=8, d_model=m.d_model, h=m.h, activation=m.activation)
        sizes.attention()  # which says whether h divides d_model


def save_language_model(model: nn.Module, tokenizer: FastTokenizer, directory: Path) -> None:
    """What `clearhead` and `transformers` load."""
    save_pretrained(model, directory, torch.float32)
    tokenizer.save(directory)
    save_older_layout(directory)
