"""`clearhead train` as it is typed: what it prints, where it stops, how it goes on."""

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from clearhead.cli import main
from clearhead.cli.options import all_changes
from clearhead.training.recipe_file import (
    built_in_recipes,
    dump_recipe,
    explain_recipe,
    load_recipe,
)
from clearhead.training.session import STOP_SIGNALS
from tests.training.conftest import no_pictures  # noqa: F401 - a fixture
from tests.training.tiny import tiny_recipe
from tests.training.tiny_language import write_text


@pytest.fixture
def recipe(tmp_path: Path) -> str:
    path = tmp_path / "tiny.yaml"
    path.write_text(dump_recipe(tiny_recipe(tmp_path, steps=6)), encoding="utf-8", newline="\n")
    return str(path)


def complaint(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that a command ends with."""
    assert main.run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and err.startswith("clearhead: error: ")
    return err


def without_comments(text: str) -> str:
    return "".join(line for line in text.splitlines(True) if not line.lstrip().startswith("#"))


def test_show_config_prints_yaml_that_reads_as_the_same_recipe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["train", "en_fr", "--set", "run.steps=7", "--data", "1:30", "--device", "cpu"]
    assert main.run([*command, "--show-config"]) == 0
    text = capsys.readouterr().out
    path = tmp_path / "shown.yaml"
    path.write_text(text, encoding="utf-8")
    recipe = load_recipe(str(path))
    assert explain_recipe(recipe) == text
    assert dump_recipe(recipe) == without_comments(text)
    assert (recipe.run.steps, recipe.data.train, recipe.run.device) == (7, "1:30", "cpu")
    assert set(yaml.safe_load(text)) == {"task", "data", "vocabulary", "model", "optimizer", "run"}


@pytest.mark.parametrize(
    ("option", "value", "change"),
    [
        ("--data", "a.txt", "data.train=b.txt"),
        ("--steps", "2", "run.steps=5"),
        ("--device", "cpu", "run.device = cuda"),
    ],
)
def test_an_option_and_a_change_of_the_same_value_are_refused(
    option: str, value: str, change: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = complaint(["train", "causal", option, value, "--set", change], capsys)
    assert f"{option} and --set {change} change the same value" in told


@pytest.mark.parametrize("recipe", built_in_recipes())
def test_show_config_explains_each_key_on_the_line_above(
    recipe: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["train", recipe, "--show-config"]) == 0
    lines = capsys.readouterr().out.splitlines()
    keys = [i for i, line in enumerate(lines) if re.match(r" *[a-z]\w*:", line)]
    assert len(keys) > 30
    for i in keys:
        comment = lines[i - 1].strip()
        assert comment.startswith("# ") and comment not in ("# ", "# None"), lines[i]


def test_help_lists_the_built_in_recipes_with_what_they_train(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main.run(["train", "--help"]) == 0
    _, _, listed = capsys.readouterr().out.partition("Built-in recipes:\n")
    named = [line.split()[0] for line in listed.splitlines() if re.match(r"  \w", line)]
    assert named == built_in_recipes()
    assert all(len(line.split()) > 4 for line in listed.splitlines() if re.match(r"  \w", line))


def test_steps_and_output_are_accepted_for_what_the_recipe_and_run_dir_say(
    recipe: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for option in ("--output", "-o"):
        run_dir = tmp_path / option.strip("-")
        assert main.run(["train", recipe, "--steps", "4", option, str(run_dir)]) == 0
        assert "done: 4 steps" in capsys.readouterr().err
        assert load_recipe(str(run_dir / "config.yaml")).run.steps == 4


def test_a_run_ends_with_a_model_and_says_where(
    recipe: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir = tmp_path / "my run"
    assert main.run(["train", recipe, "--run-dir", str(run_dir)]) == 0
    out, err = capsys.readouterr()
    best = shlex.quote(str(run_dir / "best"))
    assert out == f"the model is in {best}: clearhead translate --model {best}\n"
    assert "training a tokenizer with 300 tokens" in err and "done: 6 steps" in err
    kept = {p.name for p in run_dir.iterdir()}
    assert {"config.yaml", "best", "last", "metrics.jsonl", "train.log", "tokenizer.json"} <= kept
    for directory in ("best", "last"):
        names = {p.name for p in (run_dir / directory).iterdir()}
        assert {"config.json", "model.safetensors", "tokenizer.json", "README.md"} <= names


def test_resume_needs_only_the_run_directory(
    recipe: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir = str(tmp_path / "run")
    assert main.run(["train", recipe, "--run-dir", run_dir]) == 0
    resume = ["train", "--resume", "--run-dir", run_dir]
    capsys.readouterr()
    assert main.run(resume) == 0
    assert "this run is finished" in capsys.readouterr().err
    assert main.run([*resume, "--set", "run.steps=8"]) == 0
    err = capsys.readouterr().err
    assert "resuming after step 6 of 8" in err and "done: 8 steps" in err


@pytest.mark.parametrize("option", ["--resume", "--show-config"])
def test_a_run_given_as_a_recipe_is_answered_with_the_command_that_continues_it(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir = tmp_path / "my run"
    run_dir.mkdir()
    (run_dir / "config.yaml").write_text("run:\n  steps: 5\n", encoding="utf-8")
    err = complaint(["train", option, str(run_dir)], capsys)
    assert f"clearhead train --resume --run-dir {shlex.quote(str(run_dir))}" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train"], "give a recipe"),
        (["train", "--resume"], "--resume needs --run-dir"),
        (["train", "--resume", "--run-dir", "nowhere"], "holds no run"),
        (["train", "en_frr"], "did you mean en_fr?"),
        (["train", "en_fr", "--data", "a", "--data=b"], "--data is given twice; join corpora with"),
        (["evaluate", "--data", "a", "--data", "b"], "join corpora with a plus: --data 'FIRST +"),
        (["export", "--to", "onnx", "--to", "ctranslate2"], "--to is given twice; give one format"),
        (["train", "en_fr", "--set", "run.stepz=3"], "did you mean 'steps'?"),
        (["train", "en_fr", "--data", "missing.tsv"], "missing.tsv does not exist"),
        (["train", "en_fr", "--data", ""], "data.train: the name of the corpus is empty"),
        (["train", "en_fr"], "data.train: train.tsv does not exist"),
        (["train", "en_fr"], "give your pairs with --data FILE"),
        (["train", "en_fr", "--data", "grammar:train:9"], "data.dev: dev.tsv does not exist"),
        (["train", "en_fr", "--data", "grammar:train:9"], "pairs with --set data.dev=FILE"),
        (["train", "multi30k"], "get it with `clearhead data get multi30k`"),
        (["train", "en_fr", "--data", "grammar:train:9", "--device", "tpu"], "'tpu' is unknown"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str],
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert words in complaint(arguments, capsys)
    assert not list(tmp_path.iterdir())


def test_a_full_run_directory_is_one_line(
    recipe: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "is not an empty directory" in complaint(
        ["train", recipe, "--run-dir", str(tmp_path)], capsys
    )


def start_long_run(recipe: str, run_dir: Path) -> subprocess.Popen[str]:
    """A run of many steps; returns once it has made the first of them."""
    settings = ["run.steps=100000", "run.log_every=1", "run.eval_every=100000"]
    changes = [word for setting in settings for word in ("--set", setting)]
    command = [sys.executable, "-m", "clearhead", "train", recipe, "--run-dir", str(run_dir)]
    process = subprocess.Popen(
        [*command, *changes, "--set", "run.save_every=100000"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        encoding="utf-8",
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # nohup ignores it
    )
    assert process.stderr is not None
    while not process.stderr.readline().startswith("step 3/"):
        assert process.poll() is None
    return process


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for other processes")
@pytest.mark.parametrize(("number", "code"), [(number, 128 + number) for number in STOP_SIGNALS])
def test_a_stopped_run_saves_and_prints_the_command_to_go_on(
    number: signal.Signals,
    code: int,
    recipe: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run_dir = tmp_path / "my run"
    process = start_long_run(recipe, run_dir)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code and "Traceback" not in err
    command = err.splitlines()[-1].removeprefix("stopped; to continue: ")
    words = shlex.split(command)
    assert words == ["clearhead", "train", "--resume", "--run-dir", str(run_dir)]
    steps = [line for line in err.splitlines() if line.startswith("step ")]
    made = int(steps[-1].split()[1].split("/")[0]) if steps else 3
    assert main.run([*words[1:], "--set", f"run.steps={made + 2}"]) == 0
    assert f"resuming after step {made} of {made + 2}" in capsys.readouterr().err


def test_any_text_file_makes_a_language_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = write_text(tmp_path / "my text.txt")
    changes = [
        "vocabulary.size=330", "model.d_model=16", "model.d_ff=24", "model.layers=1", "model.h=2",
        "model.seq_len=20", "run.steps=2", "run.batch_tokens=100",
    ]  # fmt: skip
    options = [word for change in changes for word in ("--set", change)]
    run_dir = tmp_path / "run"
    command = ["train", "causal", "--data", str(text), "--run-dir", str(run_dir), *options]
    assert main.run(command) == 0
    best = shlex.quote(str(run_dir / "best"))
    printed = capsys.readouterr().out
    assert printed == f"the model is in {best}: clearhead generate --model {best}\n"
    assert "no task 'causl'" in complaint(["train", "causal", "--set", "task=causl"], capsys)


@pytest.mark.parametrize(
    "name", ["paires\U0001f600.tsv", "\U00020bb7.tsv", "1:30", "a\u2028b", 'a"b\\c', "é\n"]
)
def test_any_name_of_a_file_reaches_the_recipe(name: str) -> None:
    (change,) = all_changes({"data.train": name}, [], lambda key, change: "")
    assert yaml.safe_load(change.partition("=")[2]) == name
