"""What this machine could do at most, and how much of it our training step reaches.

The peak is measured, not read from a data sheet: a large matrix product in each number
format, and a copy of memory far larger than any cache.
"""

from collections.abc import Callable, Iterator

import torch

from clearhead.compare import clearhead_decoding, clearhead_training
from clearhead.compare.engine import Search, Subject
from clearhead.compare.flops import training_flop
from clearhead.compare.race import Contestant, Laps, race
from clearhead.compare.results import Duel, Heat
from clearhead.compare.task import Task
from clearhead.fast.processor import multiplies_int8

REPEAT = 4  # products in a pass, so that a pass is long against the clock
_BYTES = {"float32": 4, "bfloat16": 2, "int8": 1}
_FORMATS = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def arithmetic_heat(task: Task, size: int, rounds: int, say: Callable[[str], None] = print) -> Heat:
    """Matrix products of (size, size) beside whole training steps, in 10^9 operations a second."""
    runners = [*_products(task, size), *_steps(task)]
    laps = race(runners, rounds, 2, task.settle, say, run_up=1)
    title = f"Arithmetic: products of {size} × {size}, and our training step"
    return Heat(title, "GFLOP/s", laps, list(_shares(laps)), per=1e9)


def _products(task: Task, size: int) -> Iterator[Contestant]:
    for name, dtype in _FORMATS.items():
        if name == "float32" or task.has_bf16:
            yield Contestant(f"product, {name}", _product(size, dtype, task.device))
    if multiplies_int8(task.device):
        yield Contestant("product, int8", _int8_product(size))


def _product(size: int, dtype: torch.dtype, device: torch.device) -> Callable[[], float]:
    a, b = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    out = torch.empty_like(a)

    def run() -> float:
        for _ in range(REPEAT):
            torch.mm(a, b, out=out)
        return 2.0 * REPEAT * size**3

    return run


def _int8_product(size: int) -> Callable[[], float]:
    a, b = (torch.randint(-128, 128, (size, size), dtype=torch.int8) for _ in range(2))

    def run() -> float:
        for _ in range(REPEAT):
            torch._int_mm(a, b)
        return 2.0 * REPEAT * size**3

    return run


def _steps(task: Task) -> Iterator[Contestant]:
    source, target = task.batch()
    flop = training_flop(task.config, len(source), source.shape[1], target.shape[1])
    for contestant in clearhead_training.contestants(task):
        yield Contestant(f"training step of {contestant.name}", _counted(contestant.run, flop))


def _counted(run: Callable[[], float], work: float) -> Callable[[], float]:
    def counted() -> float:
        run()
        return work

    return counted


def _shares(laps: Laps) -> Iterator[Duel]:
    """Each step against the product of its own format: the share of the peak."""
    for step in laps:
        for name in _FORMATS:
            if step.startswith(f"training step of clearhead, {name}"):
                yield Duel(step, f"product, {name}")


def memory_heat(
    subject: Subject, megabytes: int, rounds: int, say: Callable[[str], None] = print
) -> Heat:
    """Copying memory beside greedy decoding of one sentence, which reads all weights a token."""
    # A subject on a GPU would race the wrong memory.
    numbers = torch.zeros(megabytes * 2**20 // 4)
    target = torch.empty_like(numbers)

    def copy() -> float:
        target.copy_(numbers)
        return 2.0 * numbers.numel() * numbers.element_size()  # read and written

    runners = [Contestant("copy", copy), *_reading(subject)]
    laps = race(runners, rounds, 2, say=say)
    duels = [Duel(name, "copy") for name in laps if name != "copy"]
    title = f"Memory: a copy of {megabytes} MB, and the weights read by decoding at batch 1"
    return Heat(title, "GB/s", laps, duels, per=1e9)


def _reading(subject: Subject) -> Iterator[Contestant]:
    """Weights of decoder and projection, times the tokens written."""
    config = subject.model.config
    first = max(config.pad_id, config.bos_id, config.eos_id) + 1
    source = [*range(first, first + min(12, config.src_seq_len - 1)), config.eos_id]
    search = Search(beam=1, rows=1, limit=min(32, config.tgt_seq_len))
    halves = (subject.model.decoder, subject.model.projection_layer)
    weights = sum(p.numel() for half in halves for p in half.parameters())
    for engine in clearhead_decoding.engines(subject):
        run = _reader(engine, source, search, weights * _BYTES[engine.precision])
        yield Contestant(f"decoding, {engine.name}", run)


def _reader(
    engine: clearhead_decoding.Clearhead, source: list[int], search: Search, bytes_a_token: int
) -> Callable[[], float]:
    def run() -> float:
        written = len(engine.translate([source], search)[0]) + 1  # with its end sign
        return float(min(written, search.limit) * bytes_a_token)

    return run
