"""Options of other programs are answered with the option to use here."""

import re
from typing import Any

import pytest

from clearhead.biology.recipe import BiologyRecipe, PretrainingRecipe
from clearhead.cli import main
from clearhead.cli.first_guesses import advice, guesses
from clearhead.training.recipe import Recipe
from clearhead.training.recipe_file import load_recipe
from tests.laws.cli_options import root_command

GUESSES = guesses()
VERBS = GUESSES.pop("clearhead")
ROWS = [(path, option, text) for path, rows in GUESSES.items() for option, text in rows.items()]


def options_of(path: str) -> set[str]:
    command: Any = root_command()
    for verb in path.split():
        command = command.commands[verb]
    return {name for p in command.params for name in (*p.opts, *p.secondary_opts)}


def recipe_of(path: str) -> Recipe:
    if path == "train":
        return load_recipe("first_light")
    return BiologyRecipe() if path.endswith(" train") else PretrainingRecipe()


@pytest.mark.parametrize(("path", "option", "text"), ROWS)
def test_a_guess_is_no_option_and_its_answer_is_one(path: str, option: str, text: str) -> None:
    own = options_of(path)
    assert option not in own
    assert set(re.findall(r"--[a-z][a-z-]*", text)) <= own


@pytest.mark.parametrize(
    ("path", "key"),
    sorted({(path, key) for path, _, text in ROWS for key in re.findall(r"--set ([\w.]+)=", text)}),
)
def test_a_key_of_an_answer_is_in_the_recipe_of_the_command(path: str, key: str) -> None:
    section, name = key.split(".")
    assert name in type(getattr(recipe_of(path), section)).model_fields


def test_an_option_is_looked_up_for_the_command_that_was_typed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`bio dna train` has none of the options of `train`, nor `bio dna embed` those of `embed`."""
    for path in ("bio dna train", "bio protein embed"):
        for option in [*GUESSES["train"], *GUESSES["embed"]]:
            if option in options_of(path):
                continue
            assert main.run([*path.split(), "x", option, "5"]) == 2
            err = capsys.readouterr().err
            answer = err.partition("; write ")[2]
            assert set(re.findall(r"--[a-z][a-z-]*", answer)) <= options_of(path), err


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["train", "first_light", "--epochs", "3"], "write --steps N"),
        (["train", "first_light", "--lr=0.1"], "write --set optimizer.peak_lr=VALUE"),
        (["translate", "--num-beams", "2", "Hello."], "write --beam-size N"),
        (["translate", "- [ ] Buy bread"], "write -- before a text that begins with a hyphen"),
        (["translate", "-5 degrees"], "or give -i FILE"),
        (["evaluate", "--beam", "2"], "write --beam-size N"),
        (["bio", "dna", "train", "x.csv", "--epochs", "5"], "write --set run.epochs=N"),
    ],
)
def test_a_guess_is_answered_in_one_line(
    arguments: list[str], answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert "No such option: -" in err
    assert answer in err


@pytest.mark.parametrize(
    ("verb", "answer"),
    [
        *VERBS.items(),
        ("Where is the station?", 'clearhead translate "TEXT"'),
        ("It's\ntwo lines", 'clearhead translate "TEXT"'),
    ],
)
def test_a_verb_of_other_programs_is_answered_with_the_command(
    verb: str, answer: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run([verb]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert err.endswith(f"; write {answer}\n")
    for command in re.findall(r"clearhead ([a-z]+)", answer):
        assert command in root_command().commands


def test_a_choice_that_does_not_exist_is_one_plain_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main.run(["verify", "pytorch"]) == 2
    err = capsys.readouterr().err
    assert "Invalid value for 'PEER': 'pytorch' is not one of 'torch', 'fast'" in err


def test_an_option_that_is_in_no_table_gets_no_answer() -> None:
    assert advice("train", "--nonsense") == advice("nonsense", "--steps") == ""


@pytest.mark.parametrize("verb", ["finetune", "fine-tune"])
def test_fine_tuning_names_the_recipes_of_classifiers_and_of_the_translator(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run([verb, "x"]) == 2
    commands = re.findall(r"clearhead train (\w+)", capsys.readouterr().err)
    assert commands == ["finetune_en_fr", "classification", "tagging"]
    assert all(map(load_recipe, commands))
