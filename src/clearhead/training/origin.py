"""What a run directory was made from, so that a resumption cannot quietly mix two runs.

The ids in data/ and the shape of the weights follow from the recipe's data,
vocabulary and model. Other keys (steps, learning rates, evaluation) may change
from one resumption to the next.
"""

import json
from pathlib import Path
from typing import Any

from clearhead.errors import UserError
from clearhead.files import atomic_write
from clearhead.training.recipe import Recipe

LOOSE = ("optimizer", "run")  # sections that may change
TIED_OF_RUN = ("dev_sentences",)  # but for this
# What may change in the other sections.
FREE = {
    "data.attribution",
    "model.dropout",
    "model.attention_dropout",
    "model.activation_dropout",
}
BEFORE_TASKS = {"task": "translation"}  # what a run of an earlier clearhead leaves unsaid


def tie(recipe: Recipe, path: Path) -> None:
    """Write down what the run is made from, or compare with what was written.

    Raises:
        UserError: the recipe names other data, another vocabulary or another model.
    """
    now = _facts(recipe)
    if not path.exists():
        atomic_write(path, json.dumps(now, indent=2, ensure_ascii=False) + "\n")
        return
    then = _read(path)
    for key, value in now.items():
        if then.get(key) != value:
            raise UserError(
                f"{key} was {then.get(key)!r} when this run began and is {value!r} now; "
                "resume without that change, or start a new run in another --run-dir"
            )


def _facts(recipe: Recipe) -> dict[str, Any]:
    sections = recipe.model_dump(mode="json")
    tied = {name: keys for name, keys in sections.items() if name not in ("task", *LOOSE)}
    facts = {
        f"{section}.{key}": value for section, keys in tied.items() for key, value in keys.items()
    }
    facts |= {f"run.{key}": sections["run"][key] for key in TIED_OF_RUN if key in sections["run"]}
    return {"task": recipe.task} | {key: facts[key] for key in facts if key not in FREE}


def _read(path: Path) -> dict[str, Any]:
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path} ({error}); start a new run") from error
    return BEFORE_TASKS | facts if isinstance(facts, dict) else {}
