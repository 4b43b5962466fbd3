"""A recipe is checked key by key, and prints as YAML that reads as the same recipe."""

from itertools import pairwise
from pathlib import Path

import pytest

from clearhead.errors import UserError
from clearhead.training import recipe_file
from clearhead.training.model_recipes import TranslationRecipe
from clearhead.training.recipe import RENAMED_KEYS
from clearhead.training.recipe_file import built_in_recipes, dump_recipe, load_recipe


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
        ("optimizer.betas=0.9", r"betas = 0\.9: input should be a list, as in \[a, b\]"),
        ("run.steps=[1", r"not YAML"),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(override: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        load_recipe("en_fr", [override])
    assert "\n" not in str(caught.value)


def test_a_word_that_yaml_reads_as_a_truth_value_stays_a_text_where_one_is_expected(
    tmp_path: Path,
) -> None:
    recipe = load_recipe("first_light", ["data.target_lang=no", "run.tensorboard=on"])
    assert isinstance(recipe, TranslationRecipe)
    assert (recipe.data.target_lang, recipe.run.tensorboard) == ("no", True)
    assert not load_recipe("first_light", ["run.tensorboard=off"]).run.tensorboard
    with pytest.raises(UserError, match=r"target_lang = False: .*; write it in quotes"):
        load_recipe(write(tmp_path / "r.yaml", "data:\n  target_lang: no\n"))


def test_nothing_behind_a_key_is_an_empty_section_or_text(tmp_path: Path) -> None:
    name = write(tmp_path / "r.yaml", "optimizer:\n#  warmup: 5\nmodel:\n  path:\ndata:\n  dev:\n")
    recipe, usual = load_recipe(name), TranslationRecipe()
    assert isinstance(recipe, TranslationRecipe)
    assert (recipe.optimizer, recipe.model.path, recipe.data.dev) == (usual.optimizer, None, "")
    changed = load_recipe(name, ["optimizer.warmup=7", "data.attribution="])
    assert (changed.optimizer.warmup, changed.data.attribution) == (7, "")
    with pytest.raises(UserError, match=r"run\.steps = None"):
        load_recipe(name, ["run.steps="])


def test_a_hash_in_a_text_of_an_override_is_part_of_the_text() -> None:
    for text in ("News of A. Smith, issue #3", "a #b.tsv", "a  # b"):
        recipe = load_recipe("first_light", [f"data.attribution={text}", f"data.train={text}"])
        assert (recipe.data.attribution, recipe.data.train) == (text, text)
    changes = ['data.attribution="in quotes" # a comment', "run.steps=5 # a comment"]
    recipe = load_recipe("first_light", changes)
    assert (recipe.data.attribution, recipe.run.steps) == ("in quotes", 5)


@pytest.mark.parametrize("name", ["small.tsv", "m.TMX", "pairs.tsv.gz", "nowhere.jsonl"])
def test_a_corpus_given_as_a_recipe_is_answered_with_the_option(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if "nowhere" not in name:
        path.write_text("one\tun\n", encoding="utf-8")
    with pytest.raises(UserError, match="is a corpus; give a recipe and --data .*" + name):
        load_recipe(str(path))


def test_a_corpus_with_a_space_is_quoted_in_the_command() -> None:
    with pytest.raises(UserError, match=r"--data 'my pairs\.tsv'"):
        load_recipe("my pairs.tsv")


def test_a_recipe_of_biology_is_answered_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    # `clearhead bio` registers this task, also for other tests in this process.
    monkeypatch.delitem(recipe_file.RECIPES, "biology", raising=False)
    message = "belongs to `clearhead bio`; use its command train or pretrain"
    with pytest.raises(UserError, match=message):
        load_recipe("en_fr", ["task=biology"])


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


@pytest.mark.parametrize(("old", "new"), RENAMED_KEYS.items())
def test_a_former_key_is_read_with_a_notice(
    old: str, new: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    task = {"tune.method": "tagging", "data.dev_share": "causal"}.get(new, "translation")
    value = {"tune.method": "frozen", "run.gradient_checkpointing": "true"}.get(new, "0.25")
    name = write(tmp_path / "r.yaml", f"task: {task}\n")
    with caplog.at_level("WARNING", "clearhead"):
        recipe = load_recipe(name, [f"{old}={value}"])
    assert recipe == load_recipe(name, [f"{new}={value}"]) != load_recipe(name)
    assert f"{old} is now called {new}" in caplog.text and caplog.text.count("\n") == 1
    section, key = old.split(".")
    old_file = write(tmp_path / "old.yaml", f"task: {task}\n{section}:\n  {key}: {value}\n")
    assert load_recipe(old_file) == recipe
    both = write(tmp_path / "both.yaml", f"{Path(old_file).read_text()}  {new.split('.')[1]}: 0\n")
    with pytest.raises(UserError, match=f"{old} is the former name of {new}; give"):
        load_recipe(both)


def refused(text: str, tmp_path: Path) -> str:
    with pytest.raises(UserError) as caught:
        load_recipe(write(tmp_path / "r.yaml", text))
    message = str(caught.value)
    assert "\n" not in message and len(message) < 400
    return message


BOMB = "a: &a [x, x]\n" + "".join(
    f"{new}: &{new} [*{old}, *{old}, *{old}, *{old}, *{old}, *{old}, *{old}, *{old}]\n"
    for old, new in pairwise("abcdefghijklmnop")
)
MERGES = "a: &a {x: 1}\n" + "".join(
    f"{new}: &{new}\n  <<: [*{old}, *{old}, *{old}, *{old}, *{old}, *{old}]\n"
    for old, new in pairwise("abcdefghijklmnop")
)


@pytest.mark.parametrize("text", [BOMB, MERGES, "run: &r {steps: 3}\ndata: *r\n"])
def test_aliases_are_refused_before_they_are_expanded(text: str, tmp_path: Path) -> None:
    assert "an alias" in refused(text, tmp_path)


@pytest.mark.parametrize("text", ["[" * 50_000, "{a: " * 20_000, "- " * 40_000 + "x"])
def test_deep_nesting_is_one_line(text: str, tmp_path: Path) -> None:
    assert "nested more than 10 deep" in refused(text, tmp_path)


@pytest.mark.parametrize(
    "value", ["2024-02-30", "2024-13-01 10:00:00", "!!int x", "!!float x", f"1{'0' * 5000}"]
)
def test_a_value_that_cannot_be_built_is_one_line(value: str, tmp_path: Path) -> None:
    assert "not YAML that can be read" in refused(f"run:\n  steps: {value}\n", tmp_path)
    with pytest.raises(UserError, match="not YAML that can be read"):
        load_recipe("first_light", [f"run.steps={value}"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("run:\n  steps: 5\n  seed: 1\n  steps: 6\n", "line 4: steps is given twice"),
        ("run:\n  steps: 5\ndata: {}\nrun:\n  seed: 1\n", "line 4: run is given twice"),
    ],
)
def test_a_key_that_is_given_twice_is_refused(text: str, message: str, tmp_path: Path) -> None:
    assert message in refused(text, tmp_path)


@pytest.mark.parametrize("value", [".nan", ".inf", "-.inf", "1e400"])
def test_numbers_that_are_not_finite_are_refused(value: str, tmp_path: Path) -> None:
    assert "optimizer.eps" in refused(f"optimizer:\n  eps: {value}\n", tmp_path)


def test_half_of_a_surrogate_pair_is_refused(tmp_path: Path) -> None:
    assert "not valid Unicode" in refused('data:\n  train: "a\\ud800"\n', tmp_path)


def test_a_corpus_in_the_place_of_a_recipe_is_refused_at_once(tmp_path: Path) -> None:
    assert "give the recipe" in refused("a\tb\n" * 10**6, tmp_path)


@pytest.mark.parametrize(
    ("override", "credited"),
    [
        ("data.train=mine.tsv", ""),
        ("data.train=mine.en,mine.fr", ""),
        ("data.train=mine.tsv + notes.tmx", ""),
        ("data.train=grammar:train:100", ""),
        ("data.train=mine.tsv + data/tatoeba/fra.txt", "tatoeba.org"),
        ("data.train=/elsewhere/tatoeba/fra.txt", "tatoeba.org"),
        ("data.train=data/multi30k/train.en,data/multi30k/train.fr", "for research"),
        ("data.train=train.tsv + mine.tsv", "tatoeba.org"),
        ("run.steps=3", "tatoeba.org"),
    ],
)
def test_a_model_carries_the_attribution_of_its_own_data(override: str, credited: str) -> None:
    found = load_recipe("en_fr", [override]).data.attribution
    assert (credited in found) if credited else (found == "")


def test_an_attribution_of_ones_own_stays() -> None:
    changes = ["data.train=mine.tsv", "data.attribution=by me"]
    assert load_recipe("en_fr", changes).data.attribution == "by me"
