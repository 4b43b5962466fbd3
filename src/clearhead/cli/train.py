"""`clearhead train`: train a model as a recipe describes, with tcmalloc if it is there."""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clearhead.cli.options import GivenOnce, all_changes
from clearhead.errors import UserError, shell_command

if TYPE_CHECKING:
    from clearhead.training.recipe import Recipe

TCMALLOC = "libtcmalloc_minimal.so.4"  # Debian and Ubuntu: the package libtcmalloc-minimal4
SHORT = {"data.train": "--data", "run.steps": "--steps", "run.device": "--device"}


class TrainCommand(GivenOnce):
    """Lists the built-in recipes below the options; reads them only for the help."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """A table of names and first lines."""
        with formatter.section("Built-in recipes"):
            formatter.write_dl(list(_recipes()))


def _recipes() -> Iterator[tuple[str, str]]:
    folder = resources.files("clearhead") / "recipes"
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".yaml"):
            first = file.read_text("utf-8").partition("\n")[0]
            yield file.name.removesuffix(".yaml"), first.removeprefix("# ")


def train(
    recipe: Annotated[
        str | None,
        typer.Argument(help="A YAML file, or the name of a built-in recipe (listed below)."),
    ] = None,
    data: Annotated[
        str | None, typer.Option("--data", help="Training corpus, instead of the recipe's.")
    ] = None,
    steps: Annotated[
        int | None, typer.Option("--steps", help="Number of steps, instead of the recipe's.")
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change a value: section.key=value; may be repeated."),
    ] = None,
    run_dir: Annotated[
        Path | None,
        typer.Option(
            "--run-dir",
            "--output",
            "-o",
            help="Directory for checkpoints, logs and the model.",
            show_default="runs/RECIPE",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue the run in --run-dir.")
    ] = False,
    device: Annotated[
        str | None, typer.Option("--device", help="auto, cpu, cuda, cuda:N or mps.")
    ] = None,
    show_config: Annotated[
        bool,
        typer.Option(
            "--show-config", help="Print the recipe with all values, explained, and exit."
        ),
    ] = False,
) -> None:
    """Train a translator or a language model, or fine-tune a model."""
    from clearhead.training.recipe_file import built_in_recipes, explain_recipe, load_recipe

    options = zip(SHORT, (data, steps, device), strict=True)
    short = {key: value for key, value in options if value is not None}
    if recipe and (Path(recipe) / "config.yaml").is_file():
        command = f"clearhead train --resume --run-dir {shell_command(recipe)}"
        raise UserError(f"{recipe} is the directory of a run; to continue it: {command}")
    if resume:
        name = recipe or str(_existing(run_dir) / "config.yaml")
    elif recipe is None:
        raise UserError(
            "give a recipe to train, such as clearhead train first_light: a YAML file or one of "
            f"{', '.join(built_in_recipes())}"
        )
    else:
        name = recipe
    resolved = load_recipe(name, all_changes(short, changes or [], _clash))
    if show_config:
        print(explain_recipe(resolved), end="")
        return
    _run(resolved, run_dir or Path("runs") / Path(name).stem, resume)


def _clash(key: str, change: str) -> str:
    return f"{SHORT[key]} and --set {change} change the same value"


def _existing(run_dir: Path | None) -> Path:
    if run_dir is None:
        raise UserError("--resume needs --run-dir, the directory of the run to continue")
    if not (run_dir / "config.yaml").exists():
        raise UserError(f"{run_dir} holds no run (no config.yaml); start one without --resume")
    return run_dir


def _run(recipe: "Recipe", root: Path, resume: bool) -> None:
    from clearhead.training import console, session

    with console.shown():
        try:
            began = session.resume(root, recipe) if resume else session.start(recipe, root)
            with console.kept(began.run.log):
                began.train()
        except KeyboardInterrupt as stopped:
            if (root / "config.yaml").exists():
                command = shell_command("clearhead", "train", "--resume", "--run-dir", root)
                print(f"stopped; to continue: {command}", file=sys.stderr)
            if stopped.args:  # the number of the signal
                raise SystemExit(128 + stopped.args[0]) from None
            raise
    best = shell_command(began.run.best)
    print(f"the model is in {best}: {began.task.description.command} {best}")


def restart_with_tcmalloc(arguments: list[str]) -> None:
    """Replace this process by the same command with tcmalloc, if the command trains.

    glibc searches its lists of freed memory for every tensor; see docs/why_fast.md. An allocator
    must be there before the first allocation. Where LD_PRELOAD is set, even to nothing, it stays.
    """
    verb, of_bio = arguments[:1], {*arguments[1:3]} & {"train", "pretrain", "benchmark"}
    trains = verb == ["train"] or (verb == ["bio"] and of_bio)
    if sys.platform != "linux" or "LD_PRELOAD" in os.environ or not trains:
        return
    import ctypes

    with suppress(OSError):  # not installed
        ctypes.CDLL(TCMALLOC)
        command = [sys.executable, *sys.orig_argv[1:]]
        os.execve(sys.executable, command, {**os.environ, "LD_PRELOAD": TCMALLOC})
