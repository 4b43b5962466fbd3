"""The narrated fine-tuning runs as it is written, here with a few steps on a small model."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BASE = {
    "data.train": "grammar:train:80", "data.dev": "grammar:dev:4", "vocabulary.size": 120,
    "model.d_model": 16, "model.d_ff": 16, "model.layers": 1, "model.h": 2,
    "run.steps": 2, "run.eval_every": 2, "run.save_every": 2, "run.average": 0,
}  # fmt: skip
TUNING = {"run.steps": 2, "run.eval_every": 2, "run.save_every": 2, "tune.rank": 2}


def options(changes: dict[str, object]) -> list[str]:
    return [word for key, value in changes.items() for word in ("--set", f"{key}={value}")]


def test_classification_goes_from_text_without_labels_to_a_table_of_four_ways(
    tmp_path: Path,
) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    places = {
        "RUN_DIR": str(tmp_path),
        "SMALL": " ".join(options(BASE)),
        "STEPS": "2",
        "TEST": "20",
    }
    done = subprocess.run(
        ["bash", str(ROOT / "recipes" / "classification.sh"), *options(TUNING)],
        env={**os.environ, "PATH": path, "OMP_NUM_THREADS": "1", **places},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert (tmp_path / "lora" / "best" / "adapter" / "adapter_model.safetensors").exists()
    rows = [line for line in done.stdout.splitlines() if line.startswith("| ")]
    assert len([row for row in rows if "LoRA, rank 8" in row]) == 2
    assert len([row for row in rows if "never read" in row]) == 2
