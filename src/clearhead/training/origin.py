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

FREE = {"data.attribution", "model.dropout"}  # may change in these sections


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
    sections = {
        "data": recipe.data.model_dump(mode="json"),
        "vocabulary": recipe.vocabulary.model_dump(mode="json"),
        "model": recipe.model.model_dump(mode="json"),
        "run": {"dev_sentences": recipe.run.dev_sentences},
    }
    facts = {
        f"{section}.{key}": value
        for section, keys in sections.items()
        for key, value in keys.items()
    }
    return {key: value for key, value in facts.items() if key not in FREE}


def _read(path: Path) -> dict[str, Any]:
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path} ({error}); start a new run") from error
    return facts if isinstance(facts, dict) else {}
