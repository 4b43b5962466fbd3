"""Kill a training run again and again, resume it each time, and compare it bit by bit at its end.

    python benchmarks/kills.py --kills 200     # some minutes on one core
    python benchmarks/kills.py --kills 5       # a glance

One run is left alone. Victims of the same recipe are killed (SIGKILL) at random
moments, each drawn evenly from the whole life of a run: while they start, step,
evaluate and draw, save, and while they end. After every kill each file that claims
to be whole must be readable; each victim that comes to its end must have the weights,
the moments, the random state, the snapshots and the records of the run that was left
alone. The table says what the victims were about when they died, and at how many
different steps.

The children are forked from a parent that has imported everything and computed
nothing, so that a start costs a tenth of a second. Needs Linux or macOS.
"""

import argparse
import mmap
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import matplotlib.backends.backend_agg
import matplotlib.figure
import sacrebleu
import torch
import torch._dynamo  # an optimizer imports it, for more than a second
from torch import Tensor

from clearhead.models.weights import read_tensors
from clearhead.training.checkpoint import FILE, load_checkpoint
from clearhead.training.metrics import read_metrics
from clearhead.training.recipe import Recipe
from clearhead.training.recipe_file import build_recipe
from clearhead.training.run_directory import UNFINISHED
from clearhead.training.session import Session, resume, start

WARM = (matplotlib, sacrebleu)  # imported for the children
WORDS = {"one": "un", "two": "deux", "red": "rouge", "cat": "chat", "sees": "voit", "and": "et"}
CLOCKED = {"seconds", "tokens_per_second", "peak_memory_gb"}
PATIENCE = 1800  # seconds for a life that is not cut short
# What a child is about; it keeps the number of the newest on its board.
STARTING, STEPPING, EVALUATING, SAVING = PHASES = ("starting", "stepping", "evaluating", "saving")


class Board:
    """What a child is about and how many steps it has behind it, for its killer to read."""

    def __init__(self) -> None:
        self.shared = mmap.mmap(-1, 5)  # shared with the children, and outlives them

    def write(self, phase: str, step: int) -> None:
        self.shared[:] = bytes([PHASES.index(phase)]) + step.to_bytes(4, "little")

    def read(self) -> tuple[str, int]:
        return PHASES[self.shared[0]], int.from_bytes(self.shared[1:5], "little")

    def watch(self, session: Session) -> None:
        """Have the session's parts say when they begin."""
        for phase, owner, name in (
            (STEPPING, session.trainer, "step"),
            (EVALUATING, session.task, "validate"),
            (EVALUATING, session.reporter, "validation"),
            (SAVING, session.checkpoints, "save_validated"),
            (SAVING, session.checkpoints, "save_last"),
            (SAVING, session.checkpoints, "save_average"),
            (SAVING, session.trainer, "save"),
        ):
            setattr(owner, name, self._reported(phase, session, getattr(owner, name)))

    def _reported(
        self, phase: str, session: Session, part: Callable[..., object]
    ) -> Callable[..., object]:
        def reported(*arguments: object) -> object:
            self.write(phase, session.progress.step)
            return part(*arguments)

        return reported


@dataclass
class Tally:
    kills: int = 0
    runs: int = 0  # victims that came to their end
    in_a_write: int = 0  # kills that left a file half written
    phases: Counter[str] = field(default_factory=Counter)  # what the victims were about
    steps: set[int] = field(default_factory=set)  # how many they had behind them
    faults: list[str] = field(default_factory=list)

    def note(self, phase: str, step: int) -> None:
        self.kills += 1
        self.phases[phase] += 1
        self.steps.add(step)


def make_recipe(folder: Path) -> Recipe:
    """A model of 12,000 parameters on an artificial language; checkpoint every 7 of 150 steps."""
    rng = random.Random(1)
    for name, count in (("train.tsv", 1000), ("dev.tsv", 10)):
        rows = [rng.choices(list(WORDS), k=rng.randint(2, 9)) for _ in range(count)]
        lines = [f"{' '.join(r)}\t{' '.join(WORDS[w] for w in reversed(r))}\n" for r in rows]
        (folder / name).write_text("".join(lines), encoding="utf-8", newline="\n")
    sizes = {"d_model": 16, "d_ff": 32, "h": 2, "encoder_layers": 1, "decoder_layers": 1}
    run = {"steps": 150, "batch_tokens": 60, "accumulate": 2, "window": 400, "device": "cpu"}
    often = {"save_every": 7, "eval_every": 50, "log_every": 5, "average": 2, "threads": 1}
    values = {
        "data": {"train": str(folder / "train.tsv"), "dev": str(folder / "dev.tsv")},
        "vocabulary": {"size": 300},
        "model": {"size": "tiny", "seq_len": 64, "dropout": 0.1, **sizes},
        "optimizer": {"warmup": 20, "peak_lr": 3e-3},
        "run": run | often,
    }
    return build_recipe(values, "the benchmark's recipe")


def fork_run(recipe: Recipe, root: Path, board: Board, errors: Path) -> int:
    """Start or resume in a child process; its exit code is 0 if the run came to its end."""
    if pid := os.fork():
        return pid
    try:
        begun = (root / "config.yaml").exists()
        session = resume(root) if begun else start(recipe, root)
        board.watch(session)
        session.train()
        os._exit(0)
    except BaseException:  # noqa: BLE001 - a forked child must never run the parent's code after this
        errors.write_text(traceback.format_exc(), encoding="utf-8")
        os._exit(1)


def finished(pid: int, seconds: float, errors: Path) -> bool:
    """Wait so long; True if the child ended by itself, False once it is killed."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            if status:
                raise SystemExit(f"a child failed:\n{errors.read_text(encoding='utf-8')}")
            return True
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1] == 0


def inspect(root: Path, tally: Tally) -> None:
    """Everything that claims to be whole must be readable."""
    names = [path.name for path in root.rglob(".*")] if root.exists() else []
    tally.in_a_write += any(UNFINISHED.fullmatch(name) for name in names)
    try:
        for path in root.rglob("[!.]*.safetensors"):
            read_tensors(path)
        if (root / "last" / FILE).exists():
            load_checkpoint(root / "last")
            (root / "had one").touch()
        elif (root / "had one").exists():
            tally.faults.append(f"the checkpoint is gone after kill {tally.kills}")
    except ValueError as error:
        tally.faults.append(f"unreadable after kill {tally.kills}: {error}")


def outcome(root: Path) -> tuple[dict[str, Tensor], list[dict[str, object]]]:
    """Every tensor that a run leaves, and its records without what a clock measured."""
    tensors = {
        f"{path.relative_to(root)} {name}": tensor
        for path in sorted(root.rglob("*.safetensors"))
        for name, tensor in read_tensors(path).items()
    }
    records = [
        {key: value for key, value in record.items() if key not in CLOCKED}
        for record in read_metrics(root / "metrics.jsonl")
    ]
    return tensors, records


def compare(victim: Path, whole: Path, tally: Tally) -> None:
    (ours, our_records), (theirs, their_records) = outcome(victim), outcome(whole)
    if ours.keys() != theirs.keys():
        tally.faults.append(f"{victim.name}: other files: {ours.keys() ^ theirs.keys()}")
        return
    different = [name for name in ours if not torch.equal(ours[name], theirs[name])]
    if different:
        tally.faults.append(f"{victim.name}: other bits in {len(different)}: {different[:3]}")
    if our_records != their_records:
        tally.faults.append(f"{victim.name}: other records")


def torment(recipe: Recipe, folder: Path, kills: int, rng: random.Random) -> Tally:
    """Kill until the number is reached, then let the last victim come to its end."""
    tally, board, errors = Tally(), Board(), folder / "errors.txt"

    def live(root: Path, seconds: float) -> bool:
        saved = root / "last" / FILE
        board.write(STARTING, load_checkpoint(saved.parent)[0].step if saved.exists() else 0)
        return finished(fork_run(recipe, root, board, errors), seconds, errors)

    whole, began = folder / "whole", time.monotonic()
    if not live(whole, PATIENCE):
        raise SystemExit(f"the run that is left alone took more than {PATIENCE} seconds")
    lifetime = time.monotonic() - began
    while tally.kills < kills:
        victim = folder / f"victim{tally.runs}"
        while not live(victim, rng.uniform(0, lifetime) if tally.kills < kills else PATIENCE):
            tally.note(*board.read())
            inspect(victim, tally)
            if tally.kills % 20 == 0:
                print(f"{tally.kills} kills, {len(tally.faults)} faults", file=sys.stderr)
        compare(victim, whole, tally)
        tally.runs += 1
        shutil.rmtree(victim)
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        recipe = make_recipe(folder)
        tally = torment(recipe, folder, arguments.kills, random.Random(arguments.seed))
    during = ", ".join(f"{tally.phases[phase]} {phase}" for phase in PHASES)
    print("| kills | while | with a file half written | runs finished | at steps | faults | min |")
    print("|---:|---|---:|---:|---:|---:|---:|")
    print(
        f"| {tally.kills} | {during} | {tally.in_a_write} | {tally.runs} "
        f"| {len(tally.steps)} of {recipe.run.steps} "
        f"| {len(tally.faults)} | {(time.monotonic() - began) / 60:.1f} |"
    )
    for fault in tally.faults:
        print(fault, file=sys.stderr)
    sys.exit(bool(tally.faults))


if __name__ == "__main__":
    main()
