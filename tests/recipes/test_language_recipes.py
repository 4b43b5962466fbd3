"""The recipes of language models run as they are written, here with a few steps."""

import os
import subprocess
import sys
from pathlib import Path

from tests.recipes.test_recipes import ROOT

SMALL = {
    "model.d_model": 16,
    "model.d_ff": 16,
    "model.layers": 1,
    "model.h": 2,
    "model.seq_len": 32,
    "run.steps": 4,
    "run.batch_tokens": 256,
    "run.eval_every": 2,
    "run.save_every": 2,
    "run.log_every": 1,
}


def run_recipe(name: str, changes: dict[str, object], **places: str) -> str:
    options = [
        word for key, value in {**SMALL, **changes}.items() for word in ("--set", f"{key}={value}")
    ]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", str(ROOT / "recipes" / name), *options],
        env={**os.environ, "PATH": path, "OMP_NUM_THREADS": "1", **places},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_causal_goes_from_the_weighted_grammar_to_its_entropy(tmp_path: Path) -> None:
    run = tmp_path / "run"
    changes = {"data.train": "measured:500", "vocabulary.size": 400}
    printed = run_recipe("causal.sh", changes, RUN_DIR=str(run), SENTENCES="8")
    assert (run / "best" / "model.safetensors").exists() and (run / "curves.png").exists()
    assert "| entropy of derivations, exact | 16." in printed
    assert "beyond the target of 3 %" in printed  # after four steps


def test_masked_goes_from_the_grammar_to_filled_masks(tmp_path: Path) -> None:
    run = tmp_path / "run"
    changes = {"data.train": "grammar:train:500", "vocabulary.size": 300}
    printed = run_recipe("masked.sh", changes, RUN_DIR=str(run))
    assert (run / "best" / "vocab.txt").exists() and "[MASK]" in printed
    assert f"the model is in {run / 'best'}: clearhead fill-mask --model" in printed
