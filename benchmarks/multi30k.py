"""The table of recipes/multi30k.sh: every seed, then their mean and standard deviation.

    python benchmarks/multi30k.py runs/multi30k/seed-1 runs/multi30k/seed-2 runs/multi30k/seed-3

Reads what `clearhead evaluate --as-papers --json` said of each run, in RUN/scores/TEST.json,
and how long the run took, in RUN/metrics.jsonl.
"""

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clearhead.training.metrics import read_metrics

METRICS = {"bleu": "sacreBLEU", "chrf": "chrF", "bleu_as_papers": "as papers score"}


def read_scores(runs: Sequence[Path], test: str) -> list[dict[str, Any]]:
    """What `clearhead evaluate --json` printed for one test set, run by run."""
    texts = [(run / "scores" / f"{test}.json").read_text(encoding="utf-8") for run in runs]
    return [json.loads(text) for text in texts]


def spread(values: Sequence[float]) -> str:
    """`mean ± standard deviation`; of one value there is no deviation."""
    deviation = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.2f}{deviation}"


def training_time(run: Path) -> tuple[int, float]:
    """Steps and minutes."""
    last = [record for record in read_metrics(run / "metrics.jsonl") if record["kind"] == "train"]
    return last[-1]["step"], last[-1]["seconds"] / 60


def table(runs: Sequence[Path], test: str) -> list[str]:
    scores = read_scores(runs, test)
    metrics = {key: title for key, title in METRICS.items() if key in scores[0]}
    lines = [
        f"| {test}, {scores[0]['lines']:,} lines | {' | '.join(metrics.values())} |",
        f"|---|{'---:|' * len(metrics)}",
    ]
    columns = [[float(score[key]["score"]) for score in scores] for key in metrics]
    for run, row in zip(runs, zip(*columns, strict=True), strict=True):
        lines.append(f"| {run.name} | {' | '.join(f'{value:.2f}' for value in row)} |")
    lines.append(f"| mean of {len(runs)} | {' | '.join(map(spread, columns))} |")
    signatures = [f"{title}: `{scores[0][key]['signature']}`" for key, title in metrics.items()]
    return [*lines, "", *signatures]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("runs", type=Path, nargs="+", help="run directories, one for each seed")
    runs = parser.parse_args().runs
    tests = sorted(path.stem for path in (runs[0] / "scores").glob("*.json"))
    if not tests:
        sys.exit(f"{runs[0]} holds no scores/TEST.json; recipes/multi30k.sh says how to make them")
    print("| run | steps | minutes |\n|---|---:|---:|")
    for run in runs:
        steps, minutes = training_time(run)
        print(f"| {run.name} | {steps:,} | {minutes:.1f} |")
    for test in tests:
        print("", *table(runs, test), sep="\n")


if __name__ == "__main__":
    main()
