"""The narrated recipes of biology run as they are written, with a few steps of small models."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SMALL = {
    "model.d_model": 16, "model.layers": 1, "model.h": 2, "model.d_ff": 16,
    "run.steps": 4, "run.eval_every": 2, "run.members": 1,
}  # fmt: skip
# What a recipe leaves: files, the rows of its predictions, a model of its last table.
RECIPES = {
    "dna.sh": (("why.svg",), 1200, "gradient boosting"),
    "protein.sh": (("mutations.svg", "mutations.tsv"), 400, "ridge regression, one-hot"),
    "cells.sh": (("umap.svg", "deletion.tsv"), 240, "gradient boosting"),
}


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
def test_a_recipe_goes_from_pretraining_to_a_table_with_baselines(
    tmp_path: Path, recipe: str
) -> None:
    files, rows, baseline = RECIPES[recipe]
    options = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", str(ROOT / "recipes" / recipe), *options],
        env={**os.environ, "PATH": path, "OMP_NUM_THREADS": "1", "RUN_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    table = done.stdout.splitlines()
    assert any(row.startswith(f"{baseline}\t") for row in table)
    assert any(row.startswith("Transformer, from scratch\t") for row in table)
    assert all((tmp_path / name).stat().st_size for name in files)
    predictions = (tmp_path / "predictions.tsv").read_text(encoding="utf-8").splitlines()
    assert len(predictions) == rows + 1
