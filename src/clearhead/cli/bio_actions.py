"""What the verbs of `clearhead bio` do; torch is loaded only here."""

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clearhead.cli.output import pour
from clearhead.errors import UserError

if TYPE_CHECKING:
    from clearhead.biology.predicting import Predictor


def benchmark(
    data: str, columns: tuple[str, str, str], values: dict[str, Any], plan: tuple[Any, ...],
    places: tuple[Path, Path | None],
) -> None:  # fmt: skip
    """Run every model on every fold and write the table."""
    from clearhead.biology.benchmark import Plan, benchmark, table_of
    from clearhead.biology.domains import read_labelled
    from clearhead.data.sequences import Columns
    from clearhead.training import console

    records = read_labelled(data, Columns(*columns), values["data"]["domain"])
    with console.shown():
        lines = benchmark(records, values, Plan(*plan), places[0])
    pour((f"{line}\n".encode() for line in table_of(lines)), places[1])


def explain(what: tuple[Path, str, str, str], name: str, picture: Path) -> None:
    """Draw one record, the first unless it is named."""
    from clearhead.biology.explaining import explain
    from clearhead.explain.plots.biology import draw_explanation

    predictor, records = open_both(*what)
    found = next((r for r in records if name in ("", r.name)), None)
    if found is None:
        raise UserError(f"{what[1]} has no record {name!r}; give the name of one of its records")
    said = next(iter(predictor.predict([found])))
    shown = explain(predictor.loaded, found.sequence)
    title = f"{found.name}: predicted {said.label}, probability {said.chances.max():.2f}"
    draw_explanation(*shown, title, picture)


def open_both(
    model: Path, data: str, domain: str, column: str
) -> tuple["Predictor", Iterator[Any]]:
    """The model, and the records of a file, ready for it."""
    from clearhead.biology.domains import read
    from clearhead.biology.predicting import Predictor
    from clearhead.data.sequences import Columns

    predictor = Predictor.from_pretrained(model, domain)
    return predictor, read(data, Columns(column), predictor.config.domain)


def line(cells: list[str]) -> bytes:
    """A row of a table, tabs between."""
    return ("\t".join(cells) + "\n").encode()


def values(short: dict[str, str | None], changes: list[str] | None) -> dict[str, Any]:
    """Options and `--set` as the sections of a recipe."""
    from clearhead.training.recipe_file import override

    values: dict[str, Any] = {}
    given = [f"{key}={json.dumps(value)}" for key, value in short.items() if value]
    for change in [*given, *(changes or [])]:
        override(values, change)
    return values


def train(values: dict[str, Any], run_dir: Path, resume: bool, show_config: bool) -> None:
    """Train from a recipe, or continue; prints where the model is."""
    from clearhead.biology import training
    from clearhead.training import console
    from clearhead.training.recipe_file import dump_recipe

    with console.shown():
        if not resume:
            if "train" not in values.get("data", {}):
                raise UserError("train on what? give a file of sequences, or --resume")
            recipe = training.resolve(values)
            if show_config:
                print(dump_recipe(recipe), end="")
                return
        try:
            best = training.resume(run_dir) if resume else training.start(recipe, run_dir)
        except KeyboardInterrupt:
            verb = "pretrain" if values.get("task") else "train"
            command = ["clearhead", "bio", values["data"]["domain"], verb, "--resume"]
            print(f"stopped; continue with: {shlex.join([*command, '--run-dir', str(run_dir)])}",
                  file=sys.stderr)  # fmt: skip
            raise
    print(f"the model is in {shlex.quote(str(best))}")
