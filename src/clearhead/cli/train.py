"""`clearhead train`: from a recipe to a model directory."""

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clearhead.errors import UserError

if TYPE_CHECKING:
    from clearhead.training.recipe import Recipe


def train(
    recipe: Annotated[
        str | None, typer.Argument(help="A YAML file, or the name of a built-in recipe.")
    ] = None,
    data: Annotated[
        str | None, typer.Option("--data", help="Corpus to learn from, instead of the recipe's.")
    ] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", help="section.key=value; may be repeated.")
    ] = None,
    run_dir: Annotated[
        Path | None, typer.Option("--run-dir", help="Where the run keeps everything it makes.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in --run-dir.")
    ] = False,
    device: Annotated[
        str | None, typer.Option("--device", help="auto, cpu, cuda, cuda:N or mps.")
    ] = None,
    show_config: Annotated[
        bool, typer.Option("--show-config", help="Print the resolved recipe and stop.")
    ] = False,
) -> None:
    """Train a translator or a language model."""
    from clearhead.training.recipe_file import dump_recipe, load_recipe

    short = {"data.train": data, "run.device": device}
    # As JSON, which YAML reads as it stands: a file called 1:30 remains a name.
    given = [f"{key}={json.dumps(value)}" for key, value in short.items() if value is not None]
    if resume:
        name = recipe or str(_existing(run_dir) / "config.yaml")
    elif recipe is None:
        raise UserError("train what? give a recipe: clearhead train first_light")
    else:
        name = recipe
    resolved = load_recipe(name, [*given, *(changes or [])])
    if show_config:
        print(dump_recipe(resolved), end="")
        return
    _run(resolved, run_dir or Path("runs") / Path(name).stem, resume)


def _existing(run_dir: Path | None) -> Path:
    if run_dir is None:
        raise UserError("--resume needs --run-dir, the directory of the run to go on with")
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
        except KeyboardInterrupt:
            if (root / "config.yaml").exists():
                command = shlex.join(["clearhead", "train", "--resume", "--run-dir", str(root)])
                print(f"stopped; go on with: {command}", file=sys.stderr)
            raise
    best = shlex.quote(str(began.run.best))
    print(f"the model is in {best}: {began.task.words.command} {best}")
