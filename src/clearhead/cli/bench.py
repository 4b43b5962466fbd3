"""`clearhead bench`: speed of clearhead and other libraries on this machine."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clearhead.cli.options import Device, ModelDirectory, Threads
from clearhead.cli.streams import check_output, progress
from clearhead.errors import UserError

if TYPE_CHECKING:
    from clearhead.compare.results import Benchmark
    from clearhead.compare.timing import Machine

MOST_SENTENCES, MOST_LINES = 10**6, 10**9
MOST_ROWS, MOST_MEGABYTES = 10**6, 10**9


def _new_file(path: Path | None) -> Path | None:
    """Refuse a directory now, not after the measurement."""
    if path == Path("-"):
        raise UserError("--json -: this command writes a file; give its name")
    check_output(path, None)
    return path


Only = Annotated[
    list[str] | None,
    typer.Option(help="Compare with this peer only; may be repeated.", show_default="all"),
]
Rounds = Annotated[int, typer.Option(min=1, help="Timed rounds, after the warm-up.")]
Kernels = Annotated[
    str,
    typer.Option(help="Instruction set of the native engine, such as AVX2.", show_default="best"),
]
Json = Annotated[
    Path | None,
    typer.Option("--json", help="Save every measurement in this file.", callback=_new_file),
]
Size = Annotated[
    str, typer.Option(help="race (d_model 256, 3 + 3 layers), tiny, small, base, big.")
]
Vocabulary = Annotated[int, typer.Option(min=8, help="Tokens in the vocabulary.")]
Batch = Annotated[int, typer.Option(min=1, max=MOST_SENTENCES, help="Sentences per batch.")]
Length = Annotated[int, typer.Option(min=2, help="Tokens per sentence, EOS included.")]
Data = Annotated[str, typer.Option(metavar="SPEC", help="A corpus: a file or grammar:SPLIT:COUNT.")]
Lines = Annotated[int, typer.Option(min=1, max=MOST_LINES, help="Use the first N pairs.")]
Batches = Annotated[
    list[int],
    typer.Option(min=1, max=MOST_SENTENCES, help="Sentences per batch; may be repeated."),
]
Beams = Annotated[list[int], typer.Option(min=1, help="Beam size, 1 is greedy; may be repeated.")]
Seconds = Annotated[float, typer.Option(min=0, help="Training time per trainer and round.")]
BatchTokens = Annotated[int, typer.Option(min=8, help="Positions per batch, padding included.")]
Longest = Annotated[int, typer.Option(min=32, help="Length of the longest translation.")]
Plot = Annotated[Path | None, typer.Option(help="Plot the cost of a token (.svg, .png, .pdf).")]
Matrix = Annotated[
    int, typer.Option(min=32, max=MOST_ROWS, help="Rows and columns of the matrices.")
]
Megabytes = Annotated[
    int, typer.Option(min=1, max=MOST_MEGABYTES, help="Memory to copy; more than any cache.")
]


app = typer.Typer(
    help="Benchmarks against other libraries: paired rounds, alternating order, median ratio.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
def training(
    only: Only = None,
    rounds: Rounds = 9,
    threads: Threads = None,
    json: Json = None,
    size: Size = "race",
    vocabulary: Vocabulary = 8000,
    batch: Batch = 128,
    length: Length = 16,
    device: Device = "cpu",
) -> None:
    """One training step on one batch, against every installed peer."""
    from clearhead.compare import timing, training_benchmark, workloads

    machine = timing.prepare_machine(threads)
    with workloads.temporary_folder() as folder:
        task = workloads.make_task(size, vocabulary, (batch, length), Path(folder), device)
        benchmark, remarks = training_benchmark.training_benchmark(
            task, only or [], rounds, progress
        )
    setting = workloads.describe_task(task, batch, length)
    _finish("training", setting, machine, [benchmark], remarks, json)


@app.command()
def epoch(
    data: Data = "grammar:train:20000",
    lines: Lines = 1_000_000,
    seconds: Seconds = 20.0,
    rounds: Rounds = 3,
    threads: Threads = None,
    json: Json = None,
    size: Size = "race",
    batch_tokens: BatchTokens = 4096,
    model: ModelDirectory = None,
) -> None:
    """Training on a corpus, batching included: token batches against fixed padding.

    Uses the tokenizer of --model.
    """
    from clearhead.compare import timing, training_benchmark, workloads
    from clearhead.text import Tokenizer
    from clearhead.translation.loading import find_model

    machine = timing.prepare_machine(threads)
    tokenizer = Tokenizer.load(find_model(model))
    with workloads.temporary_folder() as folder:
        progress(f"encoding {data}")
        task = workloads.read_epoch(tokenizer, data, lines, batch_tokens, size, Path(folder))
        benchmark, remarks = training_benchmark.epoch_benchmark(task, seconds, rounds, progress)
    setting = f"{workloads.describe_config(task.config)}, {workloads.base_names(data)}"
    _finish("epoch", setting, machine, [benchmark], remarks, json)


@app.command()
def decoding(
    data: Data = "grammar:test:640",
    lines: Lines = 640,
    batch: Batches = [64, 1],  # noqa: B006 - typer copies it
    beam_size: Beams = [1, 4],  # noqa: B006
    only: Only = None,
    rounds: Rounds = 5,
    threads: Threads = None,
    json: Json = None,
    model: ModelDirectory = None,
    kernels: Kernels = "",
) -> None:
    """The same translations with the same weights in other engines.

    At batch 1, only an eighth of the lines is translated.
    """
    from clearhead.compare import decoding_benchmark, timing, workloads

    machine = timing.prepare_machine(threads)
    with workloads.open_model(model) as loaded:
        sources = workloads.read_sources(loaded, data, lines)
        engines, remarks = decoding_benchmark.collect_engines(loaded, only or [], kernels)
        benchmarks = decoding_benchmark.decoding_benchmarks(
            engines, loaded, sources, (batch, beam_size), rounds, progress
        )
    name = workloads.base_names(model) if model else "the shipped model"
    config = workloads.describe_config(loaded.model.config)
    setting = f"{name}, {config}, {workloads.base_names(data)}"
    _finish("decoding", setting, machine, benchmarks, remarks, json)


@app.command()
def length(
    longest: Longest = 512,
    batch: Batch = 16,
    rounds: Rounds = 5,
    threads: Threads = None,
    json: Json = None,
    size: Size = "race",
    vocabulary: Vocabulary = 8000,
    plot: Plot = None,
) -> None:
    """The cost of a token as translations get longer."""
    from clearhead.compare import decoding_benchmark as bench
    from clearhead.compare import timing, workloads
    from clearhead.explain.plots.plot import kind_of

    if plot:
        kind_of(plot)  # before a long measurement
        check_output(plot, None)
    machine = timing.prepare_machine(threads)
    config = workloads.make_config(size, vocabulary, longest)
    lengths = bench.lengths_to(longest)
    benchmark = bench.length_benchmark(config, lengths, batch, rounds, progress)
    cost = bench.fit_cost(benchmark.measurements, lengths)
    setting = workloads.describe_config(config)
    _finish("length", setting, machine, [benchmark], [bench.remark(cost)], json)
    if plot:
        bench.plot_cost(cost).save(plot)


@app.command()
def limits(
    matrix: Matrix = 2048,
    megabytes: Megabytes = 512,
    rounds: Rounds = 9,
    threads: Threads = None,
    json: Json = None,
    size: Size = "race",
    vocabulary: Vocabulary = 8000,
    batch: Batch = 128,
    length: Length = 16,
    model: ModelDirectory = None,
    device: Device = "cpu",
) -> None:
    """Peak performance of this machine, and the share that training and decoding reach."""
    from clearhead.compare import limits, timing, workloads

    machine = timing.prepare_machine(threads)
    with workloads.temporary_folder() as folder, workloads.open_model(model) as loaded:
        task = workloads.make_task(size, vocabulary, (batch, length), Path(folder), device)
        benchmarks = [
            limits.arithmetic_benchmark(task, matrix, rounds, progress),
            limits.memory_benchmark(loaded, megabytes, rounds, progress),
        ]
    setting = workloads.describe_task(task, batch, length)
    remark = "weights that fit into a cache may be read faster than memory can be copied"
    _finish("limits", setting, machine, benchmarks, [remark], json)


@app.command()
def show(
    files: Annotated[list[Path], typer.Argument(help="Files written with --json.")],
) -> None:
    """Print the tables of earlier benchmarks again."""
    from clearhead.compare.results import as_markdown, read_json

    print("\n".join(as_markdown(read_json(file)) for file in files), end="")


def _finish(
    verb: str,
    setting: str,
    machine: "Machine",
    benchmarks: "list[Benchmark]",
    remarks: list[str],
    json: Path | None,
) -> None:
    from clearhead.compare.results import Results, as_markdown, write_json

    results = Results(f"clearhead bench {verb}", setting, machine, benchmarks, remarks)
    print(as_markdown(results), end="", flush=True)  # before a file that may fail
    if json:
        write_json(results, json)
