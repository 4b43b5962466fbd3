"""Frozen, LoRA or whole: what each learns from few labels, how much of the model it moves.

    python benchmarks/finetuning.py MODEL [--labels 300] [--steps 300] [--test 1000]

MODEL is the directory of a BERT that read text without labels (`clearhead train masked`). Each
way of fine-tuning gets the same labelled sentences of the grammar, the same steps, and its own
usual learning rate for a model of this size; all are evaluated on sentences of the test split. The
last row starts from random weights of the same shape: what reading without labels was worth.
"""

import argparse
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import torch

from clearhead.compare.timing import describe_machine
from clearhead.pretrained import load, save_pretrained
from clearhead.training.recipe_file import load_recipe
from clearhead.training.session import start

# For a model of d_model ≈ 100: ten times what BERT base bears.
WAYS = {
    "frozen": ("frozen", 1e-2, False),
    "LoRA, rank 8": ("lora", 1e-2, False),
    "whole": ("whole", 1e-3, False),
    "whole, never read": ("whole", 1e-3, True),
}
TASKS = {"classification": "construction of a sentence", "tagging": "role of a word"}


@dataclass(frozen=True)
class Outcome:
    """One run: numbers that learned, bytes that a task adds, seconds, scores on the test split."""

    learned: int
    added: int
    seconds: float
    scores: dict[str, float]


def main() -> None:
    """Run every way on both tasks and print a table each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--labels", type=int, default=300, help="labelled sentences")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--test", type=int, default=1000, help="test sentences")
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    arguments = parser.parse_args()
    print(describe_machine())
    with tempfile.TemporaryDirectory() as folder:
        for task in arguments.tasks:
            print(f"\n{TASKS[task]}: {arguments.labels} labelled sentences,", end=" ")
            print(f"{arguments.steps} steps of 32, evaluated on {arguments.test:,} others\n")
            print("| trained | parameters | kept per task | seconds | accuracy | macro F1 |")
            print("|---|---|---|---|---|---|")
            for number, name in enumerate(WAYS):
                place = Path(folder) / f"{task}-{number}"
                print(row(name, run(arguments, task, name, place)), flush=True)


def run(arguments: argparse.Namespace, task: str, name: str, place: Path) -> Outcome:
    how, rate, unread = WAYS[name]
    base = arguments.model
    if unread:
        base = place.with_name(f"{place.name}-unread")
        forget(arguments.model, base)
    changes = [
        f"model.path={base}",
        f"data.train=grammar:train:{arguments.labels}",
        f"data.dev=grammar:test:{arguments.test}",
        f"tune.method={how}",
        f"optimizer.peak_lr={rate}",
        f"optimizer.warmup={max(1, arguments.steps // 20)}",
        f"run.steps={arguments.steps}",
        f"run.eval_every={arguments.steps}",
        f"run.save_every={arguments.steps}",
        "run.samples=0",
    ]
    began = time.perf_counter()
    session = start(load_recipe(task, changes), place)
    session.train()
    seconds = time.perf_counter() - began
    learned = session.trainer.optimizer.master.numel()
    last = place / "last"
    adapter = last / "adapter" / "adapter_model.safetensors"
    kept = adapter if adapter.exists() else last / "model.safetensors"
    added = learned * 4 if how == "frozen" else kept.stat().st_size
    # Of the last step, and all have the same number of steps: nothing was chosen by these scores.
    return Outcome(learned, added, seconds, session.progress.dev)


def forget(model: Path, directory: Path) -> None:
    """The same shape and the same tokenizer, freshly drawn weights."""
    known, tokenizer = load(model)
    torch.manual_seed(1)
    save_pretrained(type(known).from_config(known.config), directory)  # type: ignore[union-attr]
    tokenizer.save(directory)


def row(name: str, outcome: Outcome) -> str:
    found = outcome.scores
    return (
        f"| {name} | {outcome.learned:,} | {outcome.added / 1e6:.2f} MB | {outcome.seconds:.0f} | "
        f"{100 * found['accuracy']:.1f} % | {100 * found['macro_f1']:.1f} % |"
    )


if __name__ == "__main__":
    main()
