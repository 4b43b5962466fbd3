"""Small models on disk and labelled files that go with them: a run takes a second."""

import json
import random
from pathlib import Path
from typing import Any

import torch

from clearhead.models import Bert, BertConfig, Esm, EsmConfig
from clearhead.pretrained import save_pretrained
from clearhead.text.esm_alphabet import SPECIAL_TOKENS, EsmAlphabet
from clearhead.text.fast_tokenizer import FastTokenizer
from clearhead.training.recipe import Recipe
from clearhead.training.recipe_file import build_recipe

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad", "fil", "##m", "the", "very",
          "un", "##happ", "##y"]  # fmt: skip
WORDS = {"good": "ADJ", "bad": "ADJ", "film": "NOUN", "the": "DET", "very": "ADV", "unhappy": "ADJ"}
RESIDUES = "LAGVSERTIDPKQNFYMHWC"
SIZES: dict[str, Any] = {"seq_len": 40, "d_model": 16, "layers": 2, "h": 2, "d_ff": 24}


def bert(folder: Path) -> Path:
    """A BERT that knows six words, saved as a masked language model."""
    torch.manual_seed(5)
    sizes = BertConfig(len(PIECES), **SIZES, heads=("masked_lm",), initial_std=0.2)
    save_pretrained(Bert.from_config(sizes), folder)
    (folder / "vocab.txt").write_text("\n".join(PIECES), encoding="utf-8")
    FastTokenizer.wordpiece(folder).save(folder)
    return folder


def esm(folder: Path) -> Path:
    """An ESM-2 that saw no protein yet."""
    torch.manual_seed(5)
    letters = ["<cls>", "<pad>", "<eos>", "<unk>", *RESIDUES, "<mask>"]
    ids: dict[str, Any] = {"pad_id": 1, "mask_id": len(letters) - 1, "heads": ("masked_lm",)}
    save_pretrained(Esm.from_config(EsmConfig(len(letters), **SIZES, **ids)), folder)
    EsmAlphabet(letters, SPECIAL_TOKENS).save(folder)
    return folder


def sentences(count: int, seed: int = 1) -> list[list[str]]:
    rng = random.Random(seed)
    return [rng.choices(list(WORDS), k=rng.randint(1, 7)) for _ in range(count)]


def write_texts(path: Path, count: int, seed: int = 1) -> Path:
    """good: a text with this word in it; its second text is its last word."""
    rows = [
        f"{' '.join(s)}\t{s[-1]}\t{'good' if 'good' in s else 'other'}\n"
        for s in sentences(count, seed)
    ]
    path.write_text("text\tlast\tlabel\n" + "".join(rows), encoding="utf-8")
    return path


def write_words(path: Path, count: int, seed: int = 1) -> Path:
    """Every word with its part of speech."""
    rows = ["".join(f"{w}\t{WORDS[w]}\n" for w in s) for s in sentences(count, seed)]
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


def write_residues(path: Path, count: int, seed: int = 1) -> Path:
    """Two classes of residues; the first of a chain does not count."""
    rng = random.Random(seed)
    chains = ["".join(rng.choices(RESIDUES, k=rng.randint(2, 12))) for _ in range(count)]
    rows = []
    for chain in chains:
        labels = ["H" if residue < "L" else "C" for residue in chain]
        mask = "0" + "1" * (len(chain) - 1)
        rows.append(json.dumps({"sequence": chain, "labels": labels, "mask": mask}))
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


def finetuning_recipe(folder: Path, task: str = "classification", **sections: Any) -> Recipe:
    """12 steps, a checkpoint every 3, an evaluation every 4."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = task == "classification"
    file = folder / ("train.tsv" if texts else "train.conll")
    (write_texts if texts else write_words)(file, 90)
    model = folder / "model"
    values: dict[str, Any] = {
        "task": task,
        "data": {"train": str(file), "dev_share": 0.3},
        "model": {"path": str(model if model.exists() else bert(model))},
        "tune": {"rank": 2},
        "optimizer": {"peak_lr": 0.01, "warmup": 4},
        "run": {
            "steps": 12, "batch_texts": 8, "device": "cpu", "precision": "fp32", "threads": 1,
            "log_every": 5, "eval_every": 4, "save_every": 3, "samples": 1,
        },
    }  # fmt: skip
    for name, more in sections.items():
        values[name] = values[name] | more
    return build_recipe(values, "the test's recipe")
