"""`clearhead train`: from a recipe to a model directory."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from clearhead.errors import UserError


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
    show_config: Annotated[
        bool, typer.Option("--show-config", help="Print the resolved recipe and stop.")
    ] = False,
) -> None:
    """Train a translator."""
    from clearhead.training.recipe_file import dump_recipe, load_recipe

    overrides = [*([f"data.train={data}"] if data else []), *(changes or [])]
    if resume:
        name = recipe or str(_existing(run_dir) / "config.yaml")
    elif recipe is None:
        raise UserError("train what? give a recipe: clearhead train first_light")
    else:
        name = recipe
    resolved = load_recipe(name, overrides)
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


def _run(recipe: object, root: Path, resume: bool) -> None:
    from clearhead.training import session
    from clearhead.training.console import show_log
    from clearhead.training.recipe import Recipe

    assert isinstance(recipe, Recipe)
    began = session.resume(root, recipe) if resume else session.start(recipe, root)
    show_log(root / "train.log")
    try:
        began.train()
    except KeyboardInterrupt:
        print(
            f"\nstopped and saved; go on with: clearhead train --resume --run-dir {root}",
            file=sys.stderr,
        )
        raise
    print(f"the model is in {root / 'best'}: clearhead translate --model {root / 'best'}")
