"""A recipe is checked key by key, and prints as YAML that reads as the same recipe."""

from pathlib import Path

import pytest

from clearhead.errors import UserError
from clearhead.training.recipe_file import built_in_recipes, dump_recipe, load_recipe
from clearhead.training.translation_recipe import TranslationRecipe


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8", newline="\n")
    return str(path)


@pytest.mark.parametrize("name", built_in_recipes())
def test_built_in_recipes_are_valid_and_round_trip(name: str, tmp_path: Path) -> None:
    recipe = load_recipe(name)
    assert load_recipe(write(tmp_path / "again.yaml", dump_recipe(recipe))) == recipe


def test_an_empty_file_is_all_defaults(tmp_path: Path) -> None:
    assert load_recipe(write(tmp_path / "empty.yaml", "")) == TranslationRecipe()


def test_overrides_come_last_and_have_yaml_values(tmp_path: Path) -> None:
    name = write(tmp_path / "r.yaml", "run:\n  steps: 5\n")
    overrides = [
        "run.steps=7", "run.steps=9", "optimizer.peak_lr=1e-3", "run.tensorboard=true",
        "model.dropout=null", "data.train=grammar:train:100", "optimizer.betas=[0.8, 0.9]",
    ]  # fmt: skip
    recipe = load_recipe(name, overrides)
    assert recipe.run.steps == 9 and recipe.run.tensorboard
    assert recipe.optimizer.peak_lr == 1e-3 and recipe.optimizer.betas == (0.8, 0.9)
    assert recipe.model.dropout is None and recipe.data.train == "grammar:train:100"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("run.stepz=5", r"unknown key 'run\.stepz'; did you mean 'steps'\?"),
        ("rum.steps=5", r"unknown key 'rum'; did you mean 'run'\?"),
        ("run.xyz=5", r"unknown key 'run\.xyz'; known are steps, "),
        ("steps=5", r"expected section\.key=value"),
        ("task=translatoin", r"no task 'translatoin', expected .*; did you mean 'translation'\?"),
        ("run.steps", r"expected section\.key=value"),
        ("run.steps.more=1", r"expected section\.key=value"),
        ("run.steps=many", r"run\.steps = 'many': .*integer"),
        ("run.steps=0", r"run\.steps = 0: .*greater than 0"),
        ("run.precision=fp8", r"run\.precision = 'fp8': .*'bf16'"),
        ("optimizer.schedule=linear", r"'cosine'"),
        ("model.dropout=1", r"less than 1"),
        ("run.steps=[1", r"not YAML"),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(override: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        load_recipe("en_fr", [override])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"- a\n- b\n", "holds no sections"),
        (b"just words", "holds no sections"),
        (b"run: 5\n", "run = 5"),
        (b"run: [\n", "not YAML"),
        (b"run:\n  steps: \xff\n", "as UTF-8 text"),
    ],
)
def test_a_file_that_is_no_recipe_is_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "r.yaml"
    path.write_bytes(content)
    with pytest.raises(UserError, match=message) as caught:
        load_recipe(str(path), ["run.steps=3"] if content.startswith(b"- ") else [])
    assert "\n" not in str(caught.value) and str(path) in str(caught.value)


def test_an_unknown_recipe_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"did you mean en_fr\?"):
        load_recipe("en-fr")
    with pytest.raises(UserError, match="expected a YAML file or one of"):
        load_recipe(str(tmp_path))
