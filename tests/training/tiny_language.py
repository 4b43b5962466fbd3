"""A language model of a few thousand numbers, from sentences of the weighted grammar."""

from pathlib import Path

from clearhead.data.corpus import Texts
from clearhead.training.recipe import Recipe
from clearhead.training.recipe_file import build_recipe

TASKS = ("causal", "masked")


def write_text(path: Path, texts: int = 300) -> Path:
    """One sentence a paragraph."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join(Texts(f"measured:{texts}")) + "\n", "utf-8", newline="\n")
    return path


def tiny_language(
    task: str, folder: Path, model: dict[str, object] | None = None, **run: object
) -> Recipe:
    """10 steps, checkpoint every 3, evaluation every 4."""
    values = {
        "task": task,
        "data": {"train": str(write_text(folder / "train.txt"))},
        "vocabulary": {"size": 330},
        "model": {
            "d_model": 16,
            "d_ff": 24,
            "h": 2,
            "layers": 1,
            "seq_len": 20,
            "dropout": 0.2,
            **(model or {}),
        },
        "optimizer": {"warmup": 4, "peak_lr": 0.01},
        "run": {
            "steps": 10,
            "batch_tokens": 800,
            "device": "cpu",
            "precision": "fp32",
            "threads": 1,
            "log_every": 5,
            "eval_every": 4,
            "save_every": 3,
            "average": 2,
            "samples": 2,
            **run,
        },
    }
    return build_recipe(values, "the test's recipe")
