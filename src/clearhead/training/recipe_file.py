"""Reading a recipe: from the package by name or from a YAML file, with `--set` on top."""

import difflib
import json
import logging
import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from clearhead.data.download import attribution, endings
from clearhead.errors import UserError, shell_command
from clearhead.training.finetuning_recipe import ClassificationRecipe, TaggingRecipe
from clearhead.training.model_recipes import CausalRecipe, MaskedRecipe, TranslationRecipe
from clearhead.training.recipe import RENAMED_KEYS, Recipe

log = logging.getLogger("clearhead")

RECIPES: dict[str, type[Recipe]] = {
    "translation": TranslationRecipe,
    "causal": CausalRecipe,
    "masked": MaskedRecipe,
    "classification": ClassificationRecipe,
    "tagging": TaggingRecipe,
}
MAX_DEPTH, MAX_BYTES = 10, 10**5
CORPORA = (".tsv", ".csv", ".tmx", ".jsonl", ".gz")  # a recipe has none of these extensions
MAX_SHOWN = 80  # characters of a wrong value in an error
DEFAULT_TASK = "translation"
SECTIONS = {
    "data": "the corpora",
    "vocabulary": "the tokenizer: trained on the corpus, or loaded",
    "model": "the sizes of the model, or a model to start from",
    "tune": "which parameters are trained in addition to the new head",
    "optimizer": "the optimizer and its learning rate",
    "run": "length of the run, batches, device, validation and checkpoints",
}


def load_recipe(name: str, overrides: Sequence[str] = ()) -> Recipe:
    """The recipe of that name or path, with ``section.key=value`` overrides.

    Raises:
        UserError: no such recipe, not YAML, an unknown key (the nearest is
            named) or a value that does not fit.
    """
    values = _read(name)
    if not isinstance(values, dict):
        raise UserError(f"{name} holds no sections; expected data:, model:, optimizer:, run:")
    values = _with_new_names(values, name)
    data = values.get("data")
    before = dict(data) if isinstance(data, dict) else {}
    for change in overrides:
        override(values, change)
    if not any(change.strip().startswith("data.attribution") for change in overrides):
        _credit(values, before)
    return build_recipe(values, name)


def build_recipe(values: dict[str, Any], origin: str) -> Recipe:
    """The validated recipe of plain values; errors name `origin`.

    Keys of earlier versions are read under their new names, with a line in the log.

    Raises:
        UserError: an unknown task or key, or a value that is not allowed.
    """
    kind = _kind(values.get("task", DEFAULT_TASK), origin)
    values = _with_new_names(values, origin)
    try:
        recipe = kind.model_validate(values)
        json.dumps(recipe.model_dump(mode="json"), ensure_ascii=False).encode("utf-8")
    except ValidationError as error:
        raise UserError(f"{origin}: {_explain(error, kind)}") from error
    except ValueError as error:  # half of a surrogate pair, which is no character
        raise UserError(f"{origin}: a text is not valid Unicode ({error}); correct it") from error
    return recipe


def _with_new_names(values: dict[str, Any], origin: str) -> dict[str, Any]:
    """The values with the keys of earlier versions under their new names."""
    values = {key: dict(part) if isinstance(part, dict) else part for key, part in values.items()}
    found = []
    for old, new in RENAMED_KEYS.items():
        section, _, old_key = old.partition(".")
        new_key, keys = new.partition(".")[2], values.get(section)
        if isinstance(keys, dict) and old_key in keys:
            if new_key in keys:
                raise UserError(f"{origin}: {old} is the former name of {new}; give {new} only")
            keys[new_key] = keys.pop(old_key)
            found.append(f"{old} is now called {new}")
    if found:
        log.warning("%s: %s", origin, ", ".join(found))
    return values


def dump_recipe(recipe: Recipe) -> str:
    """Every value of a recipe as YAML, defaults included."""
    return yaml.safe_dump(recipe.model_dump(mode="json"), sort_keys=False, allow_unicode=True)


def explain_recipe(recipe: Recipe) -> str:
    """`dump_recipe` with the description of each key in a comment above it."""
    lines, section = [], recipe.__class__
    for line in dump_recipe(recipe).splitlines():
        found = re.match(r"( *)(\w+):", line)
        if found and not found[1]:
            section = type(getattr(recipe, found[2]))
            field = recipe.__class__.model_fields[found[2]]
            lines.append(f"# {field.description or SECTIONS[found[2]]}")
        elif found and found[2] in section.model_fields:
            lines.append(f"{found[1]}# {_described(section.model_fields[found[2]])}")
        lines.append(line)
    return "\n".join(lines) + "\n"


def _described(field: FieldInfo) -> str:
    choices = [choice for choice in get_args(field.annotation) if isinstance(choice, str)]
    listed = f" ({', '.join(choices)})" if choices else ""
    return f"{field.description}{listed}"


def built_in_recipes() -> list[str]:
    """Names that `clearhead train NAME` accepts without a file."""
    folder = resources.files("clearhead") / "recipes"
    return sorted(entry.name[:-5] for entry in folder.iterdir() if entry.name.endswith(".yaml"))


def _kind(task: object, origin: str) -> type[Recipe]:
    if isinstance(task, str) and task in RECIPES:
        return RECIPES[task]
    if str(task).startswith("biology"):
        raise UserError(f"{origin} belongs to `clearhead bio`; use its command train or pretrain")
    near = difflib.get_close_matches(str(task), RECIPES, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise UserError(f"{origin}: there is no task {task!r}, expected {', '.join(RECIPES)}{hint}")


def _read(name: str) -> Any:
    if name in built_in_recipes():
        text = (resources.files("clearhead") / "recipes" / f"{name}.yaml").read_text("utf-8")
    elif Path(name).suffix.lower() in CORPORA:
        raise UserError(f"{name} is a corpus; give a recipe and --data {shell_command(name)}")
    elif Path(name).is_file():
        text = _read_text(Path(name))
    else:
        near = difflib.get_close_matches(name, built_in_recipes(), n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise UserError(
            f"there is no recipe {name!r}: expected a YAML file or one of "
            f"{', '.join(built_in_recipes())}{hint}"
        )
    return _parsed(text, name) or {}


def _parsed(text: str, origin: str) -> Any:
    """The values of a YAML text, after a look at its events, which costs nothing but time.

    Raises:
        UserError: it is not YAML, is nested deeper than any recipe, or repeats parts of itself:
            a few lines of aliases can stand for gigabytes.
    """
    try:
        depth = 0
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                raise UserError(
                    f"{origin}{_line(event)}: an alias (*{event.anchor}); "
                    "recipes have none: write the value itself"
                )
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH:
                raise UserError(
                    f"{origin}{_line(event)}: nested more than {MAX_DEPTH} deep; "
                    "expected sections with keys and values"
                )
        _refuse_repeated_keys(yaml.compose(text, Loader=yaml.SafeLoader), origin)
        return yaml.safe_load(text)
    except UserError:
        raise
    # A ValueError is a date that does not exist, or a number that Python cannot read.
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{origin} is not YAML that can be read: {reason}; correct it") from error


def _refuse_repeated_keys(node: yaml.Node | None, origin: str) -> None:
    """YAML would take the last value of a key and drop the others.

    Raises:
        UserError: names the key and its second line.
    """
    found = set()
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if isinstance(key, yaml.ScalarNode) and key.value in found:
            raise UserError(f"{origin}{_line(key)}: {key.value} is given twice; keep one of both")
        found.add(str(key.value))
        _refuse_repeated_keys(value, origin)


def _line(event: yaml.Event | yaml.Node) -> str:
    return f", line {event.start_mark.line + 1}" if event.start_mark else ""


def _read_text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UserError(
                f"{path} has {path.stat().st_size:,} bytes, and a recipe has a few thousand; "
                "give the recipe, not the corpus"
            )
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read {path} as UTF-8 text ({error}); expected YAML") from error


def override(values: dict[str, Any], change: str) -> None:
    """Set one key of a recipe's values from ``section.key=value``.

    Raises:
        UserError: it has another form, or the value is not YAML.
    """
    path, sign, value = change.partition("=")
    name = path.strip()
    if name in RENAMED_KEYS:
        log.warning("--set %s: %s is now called %s", change, name, RENAMED_KEYS[name])
    keys = RENAMED_KEYS.get(name, name).split(".")
    if keys == ["task"] and sign:
        values["task"] = value.strip()
        return
    if not sign or len(keys) != 2:
        raise UserError(f"--set {change}: expected section.key=value, as in --set run.steps=1000")
    section, key = keys
    if values.get(section) is None:  # missing, or its keys are commented out
        values[section] = {}
    if not isinstance(values[section], dict):
        raise UserError(f"--set {change}: {section} is not a section of this recipe")
    parsed = _parsed(value, f"--set {change}")
    # YAML reads no, the code of Norwegian, as false; a boolean field accepts the word as well.
    is_word = isinstance(parsed, bool) and value.strip().lower() not in ("true", "false")
    # A # behind a space begins a comment in YAML; in a text without quotes it belongs to the text.
    is_plain = isinstance(parsed, str) and parsed != "" and value.strip().startswith(parsed)
    values[section][key] = value.strip() if is_word or is_plain else parsed


def _credit(values: dict[str, Any], before: dict[str, Any]) -> None:
    """Replace the attribution of a corpus that an override has replaced.

    It is kept if part of the recipe's corpus is still used, even from another location. A corpus
    of the catalogue has an attribution of its own; any other corpus gets none.
    """
    data = values.get("data")
    if not isinstance(data, dict) or not before.get("attribution"):
        return
    if not endings(str(before.get("train"))) & endings(str(data.get("train"))):
        data["attribution"] = attribution(str(data.get("train")))


def _explain(error: ValidationError, kind: type[Recipe]) -> str:
    first = error.errors()[0]
    path = ".".join(str(part) for part in first["loc"])
    if first["type"] != "extra_forbidden":
        given = repr(first["input"])
        given = given if len(given) <= MAX_SHOWN else f"{given[:MAX_SHOWN]}…"
        message = first["msg"].replace("a valid tuple", "a list, as in [a, b]")
        message = message.removeprefix("Value error, ")
        unquoted = first["type"] == "string_type" and isinstance(first["input"], bool | int | float)
        hint = "; write it in quotes" if unquoted else ""
        return f"{path} = {given}: {message[:1].lower()}{message[1:]}{hint}"
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
