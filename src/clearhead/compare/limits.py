"""`clearhead bench limits`: the machine's peak performance, and the share that we reach.

The peaks are measured, not taken from a data sheet: large matrix products in each precision, and
copies of a block of memory far larger than any cache.
"""

from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Tensor

from clearhead.blocks import decoder_mask, padding_mask
from clearhead.compare.decoding_engines import Clearhead, Search, own_engines
from clearhead.compare.results import Benchmark, Comparison
from clearhead.compare.timing import Candidate, Measurements, Progress, measure
from clearhead.compare.training_benchmark import own_candidates
from clearhead.compare.workloads import BenchmarkModel, TrainingTask, first_token, matrix_flop
from clearhead.fast.processor import multiplies_bfloat16
from clearhead.models import Transformer, TransformerConfig

REPEAT = 4  # products per run, so that a run is long compared with the clock's resolution
BYTES = {"float32": 4, "bfloat16": 2, "int8": 1}
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def arithmetic_benchmark(
    task: TrainingTask, size: int, rounds: int, progress: Progress = print
) -> Benchmark:
    """Products of (size, size) matrices and whole training steps, in 10^9 operations per second."""
    candidates = [*_products(task, size), *_training_steps(task)]
    found = measure(candidates, rounds, 2, task.synchronize, progress, untimed_runs=1)
    title = f"Arithmetic: products of {size} × {size}, and our training step"
    return Benchmark(title, "GFLOP/s", found, list(_shares(found)), scale=1e9)


def _products(task: TrainingTask, size: int) -> Iterator[Candidate]:
    for name, dtype in DTYPES.items():
        if name == "float32" or multiplies_bfloat16(task.device):
            a, b = (torch.randn(size, size, device=task.device).to(dtype) for _ in range(2))
            product = partial(torch.mm, a, b, out=torch.empty_like(a))
            yield Candidate(f"product, {name}", partial(_repeat, product, size))
    if multiplies_int8(task.device):
        a, b = (torch.randint(-128, 128, (size, size), dtype=torch.int8) for _ in range(2))
        yield Candidate("product, int8", partial(_repeat, partial(torch._int_mm, a, b), size))


def multiplies_int8(device: torch.device) -> bool:
    """Whether 8-bit integers are the fast ones here (VNNI)."""
    ask = getattr(torch.cpu, "_is_vnni_supported", None)  # not every torch has it
    return device.type == "cpu" and ask is not None and bool(ask())


def _repeat(product: Callable[[], Tensor], size: int) -> float:
    for _ in range(REPEAT):
        product()
    return 2.0 * REPEAT * size**3


def _training_steps(task: TrainingTask) -> Iterator[Candidate]:
    source, target = task.batch()
    flop = training_flop(task.config, len(source), source.shape[1], target.shape[1])
    for candidate in own_candidates(task):
        run = partial(_count_flop, candidate.run, flop)
        yield Candidate(f"training step of {candidate.name}", run)


def _count_flop(run: Callable[[], float], flop: float) -> float:
    run()
    return flop


def training_flop(config: TransformerConfig, rows: int, src_len: int, tgt_len: int) -> float:
    """Operations in the matrix products of a training step on a full batch."""
    with torch.device("meta"):
        model = Transformer.from_config(config)
        src = torch.full((rows, src_len), config.pad_id)
        tgt = torch.full((rows, tgt_len), config.pad_id)
        masks = padding_mask(src, config.pad_id), decoder_mask(tgt, config.pad_id)
        return float(matrix_flop(model, src, tgt, *masks, training=True))


def _shares(found: Measurements) -> Iterator[Comparison]:
    """Each step against the matrix product of its precision: the share of the peak."""
    for step in found:
        for name in DTYPES:
            if step.startswith(f"training step of clearhead, {name}"):
                yield Comparison(step, f"product, {name}")


def memory_benchmark(
    model: BenchmarkModel, megabytes: int, rounds: int, progress: Progress = print
) -> Benchmark:
    """Copies of memory, and greedy decoding of one sentence, which reads all weights per token."""
    # Memory of the CPU, where `own_engines` compute.
    data = torch.zeros(megabytes * 2**20 // 4)
    candidates = [Candidate("copy", partial(_copy, data, torch.empty_like(data)))]
    found = measure([*candidates, *_decoding(model)], rounds, 2, progress=progress)
    comparisons = [Comparison(name, "copy") for name in found if name != "copy"]
    title = f"Memory: a copy of {megabytes} MB, and the weights read by decoding at batch 1"
    return Benchmark(title, "GB/s", found, comparisons, scale=1e9)


def _copy(data: Tensor, target: Tensor) -> float:
    target.copy_(data)
    return 2.0 * data.numel() * data.element_size()  # read and written


def _decoding(model: BenchmarkModel) -> Iterator[Candidate]:
    """Work: the bytes of the decoder's and projection's weights, times the number of tokens."""
    config = model.model.config
    first = first_token(config)
    source = [*range(first, first + min(12, config.src_seq_len - 1)), config.eos_id]
    search = Search(beam=1, rows=1, limit=min(32, config.tgt_seq_len))
    parts = (model.model.decoder, model.model.projection_layer)
    weights = sum(p.numel() for part in parts for p in part.parameters())
    for engine in own_engines(model):
        nbytes = weights * BYTES[engine.precision]
        yield Candidate(
            f"decoding, {engine.name}", partial(_read_weights, engine, source, search, nbytes)
        )


def _read_weights(engine: Clearhead, source: list[int], search: Search, nbytes: int) -> float:
    tokens = len(engine.translate([source], search)[0]) + 1  # with EOS
    return float(min(tokens, search.limit) * nbytes)
