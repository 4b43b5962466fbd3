"""Reading a recipe: from the package by name or from a YAML file, with `--set` on top."""

import difflib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from clearhead.errors import UserError
from clearhead.training.language_recipe import CausalRecipe, MaskedRecipe
from clearhead.training.recipe import Recipe
from clearhead.training.translation_recipe import TranslationRecipe
from clearhead.training.tuning_recipe import ClassificationRecipe, TaggingRecipe

KINDS: dict[str, type[Recipe]] = {
    "translation": TranslationRecipe,
    "causal": CausalRecipe,
    "masked": MaskedRecipe,
    "classification": ClassificationRecipe,
    "tagging": TaggingRecipe,
}
UNSAID = "translation"  # a recipe that names no task


def load_recipe(name: str, overrides: Sequence[str] = ()) -> Recipe:
    """The recipe of that name or path, with ``section.key=value`` overrides.

    Raises:
        UserError: no such recipe, not YAML, an unknown key (the nearest is
            named) or a value that does not fit.
    """
    values = _read(name)
    if not isinstance(values, dict):
        raise UserError(f"{name} holds no sections; expected data:, model:, optimizer:, run:")
    for override in overrides:
        _override(values, override)
    return build_recipe(values, name)


def build_recipe(values: dict[str, Any], origin: str) -> Recipe:
    """Check plain values into the recipe of their task; `origin` names them in an error."""
    kind = _kind(values.get("task", UNSAID), origin)
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise UserError(f"{origin}: {_explain(error, kind)}") from error


def dump_recipe(recipe: Recipe) -> str:
    """Every value of a recipe as YAML, defaults included."""
    return yaml.safe_dump(recipe.model_dump(mode="json"), sort_keys=False, allow_unicode=True)


def built_in_recipes() -> list[str]:
    """Names that `clearhead train NAME` knows without a file."""
    folder = resources.files("clearhead") / "recipes"
    return sorted(entry.name[:-5] for entry in folder.iterdir() if entry.name.endswith(".yaml"))


def _kind(task: object, origin: str) -> type[Recipe]:
    if isinstance(task, str) and task in KINDS:
        return KINDS[task]
    near = difflib.get_close_matches(str(task), KINDS, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise UserError(f"{origin}: there is no task {task!r}, expected {', '.join(KINDS)}{hint}")


def _read(name: str) -> Any:
    if name in built_in_recipes():
        text = (resources.files("clearhead") / "recipes" / f"{name}.yaml").read_text("utf-8")
    elif Path(name).is_file():
        text = _read_text(Path(name))
    else:
        near = difflib.get_close_matches(name, built_in_recipes(), n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UserError(
            f"there is no recipe {name!r}: expected a YAML file or one of "
            f"{', '.join(built_in_recipes())}{hint}"
        )
    try:
        return yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise UserError(f"{name} is not YAML: {' '.join(str(error).split())}") from error


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {path} as UTF-8 text ({error}); expected YAML") from error


def _override(values: dict[str, Any], override: str) -> None:
    path, sign, value = override.partition("=")
    keys = path.strip().split(".")
    if keys == ["task"] and sign:
        values["task"] = value.strip()
        return
    if not sign or len(keys) != 2:
        raise UserError(f"--set {override}: expected section.key=value, as in --set run.steps=1000")
    section, key = keys
    if not isinstance(values.setdefault(section, {}), dict):
        raise UserError(f"--set {override}: {section} is not a section of this recipe")
    try:
        values[section][key] = yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise UserError(f"--set {override}: the value is not YAML") from error


def _explain(error: ValidationError, kind: type[Recipe]) -> str:
    first = error.errors()[0]
    path = ".".join(str(part) for part in first["loc"])
    if first["type"] != "extra_forbidden":
        return f"{path} = {first['input']!r}: {first['msg'].lower()}"
    known = _keys_beside([str(part) for part in first["loc"]], kind)
    near = difflib.get_close_matches(str(first["loc"][-1]), known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
    return f"unknown key {path!r}; {hint}"


def _keys_beside(path: list[str], kind: type[Recipe]) -> list[str]:
    section: type[BaseModel] = kind
    for part in path[:-1]:
        annotation = section.model_fields[part].annotation
        assert isinstance(annotation, type) and issubclass(annotation, BaseModel)
        section = annotation
    return list(section.model_fields)
