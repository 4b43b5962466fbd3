"""Dev BLEU over minutes of training: clearhead's recipe and `torch.nn.Transformer`.

    python -m benchmarks.time_to_quality DIRECTORY --set data.train=train.tsv \\
        --set data.dev=dev.tsv [--threads 2] [--minutes 240]

Both sides have the same sizes, initial weights, tokenizer, batches, label smoothing, dropout and
threads. clearhead trains as its recipe says. `torch.nn.Transformer` runs under bfloat16 autocast
where the device multiplies bfloat16 faster, with fused Adam, warm-up and the inverse square root,
at two learning rates; after `--choose-after` minutes only the better one continues. A GPU is used
where torch finds one; `--set run.device=cpu` prevents it.

The sides train alternately, `--slice` minutes each, so that other work on the machine delays all
of them. After each slice the dev set is translated (greedy, native engine, for every side), and
DIRECTORY gets a checkpoint and a line in `points.jsonl`. The clock of a side counts its training
steps only. The same command continues a contest that was stopped. A side ends when it reaches
the highest target, at the end of its recipe, or after `--minutes`.

Results: `points.jsonl`, `bleu.png`, and the ratio of the times to each target (to reach: 3).
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.quality.contest import Contest, Limits
from benchmarks.quality.points import Point, plot_points, ratio
from benchmarks.quality.sides import ClearheadSide, SharedTask
from clearhead.compare.timing import describe_machine
from clearhead.compare.workloads import describe_config
from clearhead.errors import UserError
from clearhead.files import atomic_write
from clearhead.training.device_settings import use_threads
from clearhead.training.model_recipes import TranslationRecipe
from clearhead.training.recipe_file import load_recipe


def table(points: dict[str, list[Point]], targets: tuple[float, ...]) -> Iterator[str]:
    """The times to each target in minutes, and their ratio."""
    yield "| BLEU | clearhead | torch.nn, better rate | which | ratio |"
    yield "|---:|---:|---:|---|---:|"
    for target in targets:
        yield ratio(points, ClearheadSide.name, target).in_words()


def check_setting(path: Path, setting: dict[str, object]) -> None:
    """A contest continues with the setting that it began with.

    Raises:
        UserError: the directory holds a contest of another setting.
    """
    if not path.exists():
        atomic_write(path, json.dumps(setting, indent=1, ensure_ascii=False) + "\n")
        return
    found = json.loads(path.read_text(encoding="utf-8"))
    if different := [key for key, value in setting.items() if found.get(key) != value]:
        raise UserError(
            f"{path.parent} holds a contest with other settings ({', '.join(different)}); "
            "give the same options, or another directory"
        )


def run(a: argparse.Namespace) -> None:
    """Prepare, train alternately, print and draw."""
    sentences = [f"run.dev_sentences={a.dev_sentences}"]
    recipe = load_recipe(a.recipe, [*sentences, *(a.set or ())])
    if not isinstance(recipe, TranslationRecipe):
        raise UserError(f"{a.recipe} is not a recipe of a translator; try en_fr")
    if recipe.run.accumulate > 1:
        raise UserError("run.accumulate > 1: torch's side takes a step a batch; set it to 1")
    use_threads(a.threads)
    rates, targets = tuple(a.rates), tuple(sorted(a.targets))
    setting = {
        "recipe": recipe.model_dump(mode="json"),
        "rates": list(rates),
        "warmup": a.warmup,
        "threads": a.threads,
        "slice": a.slice,
    }
    check_setting(a.directory / "setting.json", setting)
    task = SharedTask.prepare(recipe, a.directory)
    print(
        describe_machine(), f"{describe_config(task.config)}, {len(task.dev):,} dev pairs", sep="\n"
    )
    limits = Limits(a.slice, a.minutes, a.choose_after, targets)
    points = Contest(task, a.directory, rates, a.warmup, limits).run()
    plot_points(points, targets, "Time to quality").save(a.directory / "bleu.png")
    print(*table(points, targets), sep="\n")


def main() -> None:
    """Read the command line; an error of the user is one line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("directory", type=Path, help="new, or one of a contest that was stopped")
    add("--recipe", default="en_fr")
    add("--set", action="append", help="change the recipe, as in clearhead train")
    add("--threads", type=int, help="default: torch's own number")
    add("--rates", type=float, nargs="*", default=[1e-3, 2e-3],
        help="peak learning rates of Adam; without a value, clearhead trains alone")  # fmt: skip
    add("--warmup", type=int, default=1000, help="steps of torch.nn's warm-up")
    add("--slice", type=float, default=4.0, help="minutes from evaluation to evaluation")
    add("--minutes", type=float, default=240.0, help="the longest training of a side")
    add("--choose-after", type=float, default=40.0, help="minutes, then the better rate remains")
    add("--targets", type=float, nargs="+", default=[40.0, 45.0], help="BLEU")
    add("--dev-sentences", type=int, default=2000)
    try:
        run(parser.parse_args())
    except UserError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
