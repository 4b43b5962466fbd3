"""The narrated recipes run as they are written, here with a few steps on a few sentences."""

import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

from clearhead.data.grammar import generate

ROOT = Path(__file__).parents[2]
SMALL = [
    "model.size=tiny",
    "model.d_model=16",
    "model.d_ff=16",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
    "vocabulary.size=400",
    "run.steps=4",
    "run.eval_every=2",
    "run.save_every=2",
    "run.log_every=1",
    "run.dev_sentences=4",
]


def run_recipe(name: str, arguments: list[str], **places: str) -> str:
    options = [word for change in SMALL for word in ("--set", change)]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", str(ROOT / "recipes" / name), *arguments, *options],
        env={**os.environ, "PATH": path, "OMP_NUM_THREADS": "1", **places},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_first_light_goes_from_the_grammar_to_a_measured_translator(tmp_path: Path) -> None:
    run = tmp_path / "run"
    options = ["--set", "data.train=grammar:train:200", "--set", "data.dev=grammar:dev:4"]
    printed = run_recipe("first_light.sh", options, RUN_DIR=str(run), SENTENCES="2")
    assert (run / "best" / "model.safetensors").exists()
    assert (run / "curves.png").exists()
    assert "held_out_words" in printed


def test_en_fr_goes_from_three_files_to_a_model_for_the_package(tmp_path: Path) -> None:
    for split, size in (("train", 200), ("dev", 4), ("test", 4)):
        rows = [f"{pair.source}\t{pair.target}\n" for pair in islice(generate(split), size)]
        (tmp_path / f"{split}.tsv").write_text("".join(rows), encoding="utf-8")
    shipped = tmp_path / "shipped"
    places = {"RUN_DIR": str(tmp_path / "run"), "SHIPPED_DIR": str(shipped)}
    printed = run_recipe("en_fr.sh", [str(tmp_path)], **places)
    assert "BLEU" in printed
    names = {path.name for path in shipped.iterdir()}
    assert names == {"README.md", "config.json", "model.safetensors", "tokenizer.json"}
