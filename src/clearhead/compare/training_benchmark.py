"""`clearhead bench training` and `clearhead bench epoch`: training, ours against others'.

`training` times one step on one batch. Every peer gets what its users would choose: fused Adam,
autocast to bfloat16, gradients set to None. The memory allocator settings that our trainer makes
for the process benefit the peers too.

`epoch` trains on a corpus, token batches against fixed padding. In each round both trainers get the
same time on their own pass through the corpus, and the target tokens without padding are counted.
So the benchmark ends in minutes, and the time of a whole epoch follows from the rates.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

import torch
from torch import nn

from clearhead.compare import didactic, timing
from clearhead.compare.results import Benchmark, Comparison, distinct
from clearhead.compare.training_peers import Marian, TorchTransformer, XTransformer, peer_loss
from clearhead.compare.workloads import LEARNING_RATE, SMOOTHING, TrainingTask
from clearhead.data.batching import TokenBatches
from clearhead.fast.processor import multiplies_bfloat16
from clearhead.models import Transformer, TransformerConfig
from clearhead.training.device_settings import Precision, choose_device_settings
from clearhead.training.model_recipes import TranslationOptimizer, TranslationRecipe, TranslationRun
from clearhead.training.objective import make_objective
from clearhead.training.trainer import Trainer

CLEARHEAD, TORCH = "clearhead", "torch.nn.Transformer"
PRECISIONS: dict[Precision, str] = {
    "fp32": "float32",
    "bf16": "bfloat16 weights, float32 master weights",
}
# Target speed-ups: over torch's best, over torch in float32, over the didactic baseline.
BEST_OF_TORCH, FLOAT32_OF_TORCH, BASELINE = 2.5, 4.0, 4.0
DIDACTIC = "didactic loop, fixed padding, float32"  # of `epoch`


def make_trainer(
    config: TransformerConfig,
    batches: TokenBatches,
    device: torch.device,
    precision: Precision,
    compiled: bool = False,
) -> Trainer:
    """An untrained model with its trainer: the recipe's defaults, a constant learning rate."""
    optimizer = TranslationOptimizer(
        schedule="constant", peak_lr=LEARNING_RATE, warmup=1, label_smoothing=SMOOTHING
    )
    recipe = TranslationRecipe(optimizer=optimizer, run=TranslationRun(compile=compiled))
    settings = choose_device_settings(str(device), precision)
    objective = make_objective(SMOOTHING, optimizer.r_drop, settings.length_multiple)
    return Trainer(recipe, Transformer.from_config(config), batches, objective, settings)


def native_precisions(device: torch.device) -> list[Precision]:
    """The precisions that clearhead is benchmarked in on this device."""
    return ["fp32", "bf16"] if multiplies_bfloat16(device) else ["fp32"]


def own_candidates(task: TrainingTask) -> Iterator[timing.Candidate]:
    """The step of `clearhead train` in every precision; on a GPU also compiled."""
    for precision in native_precisions(task.device):
        for compiled in (False, True) if task.device.type == "cuda" else (False,):
            trainer = make_trainer(task.config, task.batches(), task.device, precision, compiled)
            name = f"{CLEARHEAD}, {PRECISIONS[precision]}{', compiled' if compiled else ''}"
            yield timing.Candidate(name, partial(_own_step, trainer))


def _own_step(trainer: Trainer) -> float:
    return float(trainer.step().tokens)


class PlainStep:
    """One update of a model that maps (source ids, decoder input) to logits."""

    def __init__(self, model: nn.Module, task: TrainingTask, autocast: bool) -> None:
        self.model = model.to(task.device).train()
        self.config, self.autocast = task.config, autocast
        self.source, self.labels = task.batch()
        self.optimizer = torch.optim.Adam(
            model.parameters(), lr=LEARNING_RATE, betas=(0.9, 0.98), eps=1e-9, fused=True
        )

    def __call__(self) -> float:
        """Returns the number of target tokens."""
        device = self.labels.device.type
        with torch.autocast(device, dtype=torch.bfloat16, enabled=self.autocast):
            loss = peer_loss(self.model, self.config, self.source, self.labels, SMOOTHING)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return self.labels.numel()


def peer_candidates(
    name: str,
    build: Callable[[TransformerConfig], nn.Module],
    task: TrainingTask,
    compiled: bool = False,
) -> Iterator[timing.Candidate]:
    """A peer's step in float32 and, where it is faster, bfloat16 autocast.

    With `compiled`, torch.compile runs during the warm-up.
    """
    precisions = ("float32", "bfloat16 autocast")
    for precision in precisions if multiplies_bfloat16(task.device) else precisions[:1]:
        model = build(task.config)
        if compiled:
            model.compile(dynamic=False)
        full_name = f"{name}, {precision}{', compiled' if compiled else ''}"
        yield timing.Candidate(full_name, PlainStep(model, task, autocast=precision != "float32"))


@dataclass(frozen=True)
class Peer:
    """Candidates that can be chosen with `--only`; all their names begin with `prefix`."""

    prefix: str
    candidates: Callable[[TrainingTask], Iterable[timing.Candidate]]
    package: str = "torch"


def _peer(
    name: str,
    build: Callable[[TransformerConfig], nn.Module],
    package: str = "torch",
    compiled: bool = False,
) -> Peer:
    return Peer(name, lambda task: peer_candidates(name, build, task, compiled), package)


PEERS = {
    "didactic": Peer(didactic.NAME, didactic.candidates),
    "torch": _peer(TORCH, TorchTransformer),
    "torch-compiled": _peer(TORCH, TorchTransformer, compiled=True),
    "x-transformers": _peer("x-transformers", XTransformer, "x_transformers"),
    "marian": _peer("transformers Marian", Marian, "transformers"),
}


def training_benchmark(
    task: TrainingTask, only: Sequence[str], rounds: int, progress: timing.Progress = print
) -> tuple[Benchmark, list[str]]:
    """The benchmark, and a remark for every peer that is not installed.

    Raises:
        UserError: a name in `only` is unknown.
    """
    names = timing.select(only, PEERS)
    absent = [name for name in names if not timing.is_installed(PEERS[name].package)]
    candidates = list(own_candidates(task))
    for name in names:
        if name not in absent:
            candidates.extend(PEERS[name].candidates(task))
    found = timing.measure(candidates, rounds, 2, task.synchronize, progress, untimed_runs=1)
    benchmark = Benchmark(
        "One training step", "target tokens/s", found, distinct(_step_comparisons(found))
    )
    return benchmark, [timing.skipped(name, PEERS[name].package) for name in absent]


def _step_comparisons(found: timing.Measurements) -> Iterator[Comparison]:
    """Our fastest candidate against each peer's fastest, then float32 against float32."""
    ours = timing.fastest(found, CLEARHEAD)
    assert ours is not None
    targets = {TORCH: BEST_OF_TORCH, didactic.NAME: BASELINE}
    for prefix in dict.fromkeys(peer.prefix for peer in PEERS.values()):
        if theirs := timing.fastest(found, prefix):
            yield Comparison(ours, theirs, targets.get(prefix))
    if (plain := f"{TORCH}, float32") in found:
        yield Comparison(ours, plain, FLOAT32_OF_TORCH)
        yield Comparison(f"{CLEARHEAD}, float32", plain)


def epoch_benchmark(
    task: TrainingTask, seconds: float, rounds: int, progress: timing.Progress = print
) -> tuple[Benchmark, list[str]]:
    """The benchmark, and remarks on the sample and on the duration of a whole epoch."""
    rows = max(1, task.plan.max_tokens // task.longest)
    loop = didactic.DidacticLoop(task.corpus, task.config, rows, task.longest)
    candidates = [timing.Candidate(DIDACTIC, partial(_run_for, seconds, loop.step))]
    batches = {}
    for precision in native_precisions(task.device):
        name = f"{CLEARHEAD}, token batches, {PRECISIONS[precision]}"
        batches[name] = task.batches()
        trainer = make_trainer(task.config, batches[name], task.device, precision)
        candidates.append(
            timing.Candidate(name, partial(_run_for, seconds, partial(_own_step, trainer)))
        )
    found = timing.measure(candidates, rounds, 1, progress=progress)
    notes = {name: f"{100 * own.padding_share:.0f} % padding" for name, own in batches.items()}
    # Source and target together, as `padding_share` counts.
    tokens = task.corpus.token_count + 2 * len(task.corpus)
    density = tokens / (2 * len(task.corpus) * task.longest)
    notes[DIDACTIC] = f"{100 * (1 - density):.0f} % padding"
    title = f"An epoch of {len(task.corpus):,} pairs, batching included"
    fastest, plain = timing.fastest(found, CLEARHEAD), f"{CLEARHEAD}, token batches, float32"
    assert fastest is not None
    both = distinct([Comparison(fastest, DIDACTIC, BASELINE), Comparison(plain, DIDACTIC)])
    benchmark = Benchmark(title, "target tokens/s", found, both, notes)
    return benchmark, _epoch_remarks(task, found, rows, seconds)


def _run_for(seconds: float, step: Callable[[], float]) -> float:
    end, tokens = time.perf_counter() + seconds, 0.0
    while not tokens or time.perf_counter() < end:
        tokens += step()
    return tokens


def _epoch_remarks(
    task: TrainingTask, found: timing.Measurements, rows: int, seconds: float
) -> list[str]:
    times = "; ".join(
        f"{name} {median(task.target_tokens / one.rate for one in own):,.0f} s"
        for name, own in found.items()
    )
    return [
        f"sample: {seconds:g} s per trainer and round, each continuing its own epoch; "
        f"fixed padding to the longest sentence, {task.longest} tokens, {rows} pairs per batch; "
        f"token batches of at most {task.plan.max_tokens:,} positions",
        f"a whole epoch ({task.target_tokens:,} target tokens) at these rates: {times}",
    ]
