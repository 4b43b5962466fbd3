"""The narrated recipes run as they are written, here with a few steps on a few sentences."""

import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from clearhead.data.grammar import generate

ROOT = Path(__file__).parents[2]
SMALL = [
    "model.size=tiny",
    "model.d_model=16",
    "model.h=4",
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
    pairs = f"data.train={tmp_path / 'train.tsv'} + grammar:wide:train:50"
    printed = run_recipe("en_fr.sh", [str(tmp_path), "--set", pairs], **places)
    assert "BLEU" in printed
    collected = (tmp_path / "run-pairs.tsv").read_text(encoding="utf-8").splitlines()
    assert len(set(collected)) > 8000 and collected.count(collected[-1]) == 2
    names = {path.name for path in shipped.iterdir()}
    files = {"README.md", "config.json", "model.safetensors", "tokenizer.json"}
    assert names == files | {"checksums.json"}
    first, second, mean = (
        load_file(folder / "model.safetensors")["src_embed.embedding.weight"].float()
        for folder in (tmp_path / "run" / "best", tmp_path / "run-2" / "best", shipped)
    )
    torch.testing.assert_close(mean, first.lerp(second, 0.7), atol=1e-3, rtol=1e-3)
    assert not torch.equal(first, second)
    weights = (shipped / "model.safetensors").read_bytes()
    run_recipe("en_fr.sh", [str(tmp_path), "--set", pairs], **places)  # resumes, and is complete
    assert (shipped / "model.safetensors").read_bytes() == weights


def test_en_fr_leaves_the_translator_of_the_package_alone_unless_it_is_named() -> None:
    script = (ROOT / "recipes" / "en_fr.sh").read_text(encoding="utf-8")
    assert "\nshipped=${SHIPPED_DIR:-$run/" in script


def test_en_fr_says_which_file_is_missing_before_it_collects_pairs(tmp_path: Path) -> None:
    (tmp_path / "fra.txt").write_text("Go.\tVa !\n", encoding="utf-8")  # as it is downloaded
    done = subprocess.run(
        ["bash", str(ROOT / "recipes" / "en_fr.sh"), str(tmp_path)],
        env={**os.environ, "RUN_DIR": str(tmp_path / "run")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode and done.stderr.startswith(f"{tmp_path}/train.tsv is missing; split")
    assert [path.name for path in tmp_path.iterdir()] == ["fra.txt"]


def test_multi30k_goes_from_its_files_to_the_mean_of_seeds_scored_in_two_ways(
    tmp_path: Path,
) -> None:
    sacremoses = pytest.importorskip("sacremoses")
    for split, made_as, size in (
        ("train", "train", 200),
        ("val", "dev", 4),
        ("test_2016_flickr", "test", 4),
        ("test_2017_mscoco", "long", 3),
    ):
        pairs = list(islice(generate(made_as), size))
        for language, lines in (
            ("en", [p.source for p in pairs]),
            ("fr", [p.target for p in pairs]),
        ):
            text = "".join(f"{line}\n" for line in lines)
            (tmp_path / f"{split}.{language}").write_text(text, encoding="utf-8")
    ready = "".join("un homme .\n" for _ in range(4))
    (tmp_path / "test_2016_flickr.lc.norm.tok.fr").write_text(ready, encoding="utf-8")
    runs = tmp_path / "runs"
    printed = run_recipe("multi30k.sh", [str(tmp_path)], RUN_DIR=str(runs), SEEDS="3 5")
    assert f"tok:moses-norm-fr-sacremoses-{sacremoses.__version__}|" in printed
    assert printed.count("| mean of 2 |") == 2 and " ± " in printed
    assert "| test_2016_flickr, 4 lines |" in printed and "test_2017_flickr" not in printed
    first, second = (
        (runs / f"seed-{n}" / "scores" / "test_2016_flickr.hyp").read_text("utf-8") for n in (3, 5)
    )
    assert first.count("\n") == second.count("\n") == 4
    assert (runs / "ensemble.hyp").read_text("utf-8").count("\n") == 4
    assert "seed-3/best + " in printed
    weights = [runs / f"seed-{n}" / "best" / "model.safetensors" for n in (3, 5)]
    assert weights[0].read_bytes() != weights[1].read_bytes()
