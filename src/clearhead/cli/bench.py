"""`clearhead bench`: how fast are we, and how fast are others, on this machine?"""

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from clearhead.compare.hardware import Machine
    from clearhead.compare.results import Heat

app = typer.Typer(
    help="Race others on this machine: paired, alternating, the median of several rounds.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Only = Annotated[
    list[str] | None, typer.Option(help="This peer alone; may be repeated.", show_default="all")
]
Rounds = Annotated[int, typer.Option(min=1, help="Rounds that count; warm-up comes before.")]
Threads = Annotated[int | None, typer.Option(min=1, help="Cores to use.", show_default="all")]
Json = Annotated[Path | None, typer.Option("--json", help="Keep every lap in this file.")]
Size = Annotated[str, typer.Option(help="race (256 wide, 3 + 3 layers), tiny, small, base, big.")]
Vocabulary = Annotated[int, typer.Option(min=8, help="Pieces of the vocabulary.")]
Batch = Annotated[int, typer.Option(min=1, help="Sentences in the batch.")]
Length = Annotated[int, typer.Option(min=2, help="Tokens a sentence, end sign included.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:N or mps.")]
Model = Annotated[
    Path | None,
    typer.Option(help="Directory of a model or a training run.", show_default="the shipped one"),
]
Data = Annotated[str, typer.Option(metavar="SPEC", help="A corpus: file or grammar:SPLIT:COUNT.")]
Lines = Annotated[int, typer.Option(min=1, help="Its first N pairs.")]
Batches = Annotated[list[int], typer.Option(min=1, help="Sentences side by side; repeatable.")]
Beams = Annotated[list[int], typer.Option(min=1, help="1 is greedy; repeatable.")]
Seconds = Annotated[float, typer.Option(min=0, help="Time of each side in a round.")]
BatchTokens = Annotated[int, typer.Option(min=8, help="Positions a batch, padding included.")]
Longest = Annotated[int, typer.Option(min=32, help="Tokens of the longest translation.")]
Plot = Annotated[Path | None, typer.Option(help="Draw the cost of a token (.svg, .png, .pdf).")]
Matrix = Annotated[int, typer.Option(min=32, help="Rows and columns of the matrices multiplied.")]
Megabytes = Annotated[int, typer.Option(min=1, help="Memory copied, more than any cache.")]


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
    """One training step on one batch, against every peer that is installed."""
    from clearhead.compare.setting import in_words, make_task, ready
    from clearhead.compare.training_race import training_heat

    machine = ready(threads)
    with tempfile.TemporaryDirectory() as folder:
        task = make_task(size, vocabulary, (batch, length), Path(folder), device)
        heat, remarks = training_heat(task, only or [], rounds, _say)
    setting = f"{in_words(task.config)}, batch {batch} × {length}, {task.device.type}"
    _finish("training", setting, machine, [heat], remarks, json)


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
    model: Model = None,
) -> None:
    """Training on a corpus, batching included: token batches against fixed padding.

    The tokenizer is the one of --model.
    """
    from clearhead.compare.epoch_race import epoch_heat
    from clearhead.compare.setting import in_words, read_epoch, ready
    from clearhead.text import Tokenizer
    from clearhead.translation.location import find_model

    machine = ready(threads)
    tokenizer = Tokenizer.load(find_model(model))
    with tempfile.TemporaryDirectory() as folder:
        _say(f"encoding {data}")
        found = read_epoch(tokenizer, data, lines, batch_tokens, size, Path(folder))
        heat, remarks = epoch_heat(found, seconds, rounds, _say)
    _finish("epoch", f"{in_words(found.config)}, {data}", machine, [heat], remarks, json)


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
    model: Model = None,
) -> None:
    """The same translations by the same weights in other engines.

    At batch 1 an eighth of the lines is translated, greedily.
    """
    from clearhead.compare.decoding_race import decoding_heats, muster
    from clearhead.compare.setting import in_words, open_subject, read_sources, ready

    machine = ready(threads)
    with open_subject(model) as subject:
        sources = read_sources(subject, data, lines)
        engines, remarks = muster(subject, only or [])
        heats = decoding_heats(engines, subject, sources, (batch, beam_size), rounds, _say)
    setting = f"{model or 'the shipped model'}, {in_words(subject.model.config)}, {data}"
    _finish("decoding", setting, machine, heats, remarks, json)


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
    """What a token of a long translation costs, from the first to the last."""
    from clearhead.compare import length as race
    from clearhead.compare.setting import in_words, make_config, ready

    if plot:
        race.picture_kind(plot)
    machine = ready(threads)
    config = make_config(size, vocabulary, longest)
    lengths = race.steps_to(longest)
    heat = race.length_heat(config, lengths, batch, rounds, _say)
    found = race.cost(heat.laps, lengths)
    if plot:
        race.plot(found, longest, plot)
    _finish("length", in_words(config), machine, [heat], [race.remark(found, longest)], json)


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
    model: Model = None,
    device: Device = "cpu",
) -> None:
    """What this machine could do at most, and the share that training and decoding reach."""
    from clearhead.compare.limits import arithmetic_heat, memory_heat
    from clearhead.compare.setting import in_words, make_task, open_subject, ready

    machine = ready(threads)
    with tempfile.TemporaryDirectory() as folder, open_subject(model) as subject:
        task = make_task(size, vocabulary, (batch, length), Path(folder), device)
        heats = [
            arithmetic_heat(task, matrix, rounds, _say),
            memory_heat(subject, megabytes, rounds, _say),
        ]
    setting = f"{in_words(task.config)}, batch {batch} × {length}, {task.device.type}"
    remark = "weights that fit into a cache may be read faster than memory can be copied"
    _finish("limits", setting, machine, heats, [remark], json)


@app.command()
def show(
    files: Annotated[list[Path], typer.Argument(help="What --json kept.")],
) -> None:
    """Print the tables of earlier races again."""
    from clearhead.compare.results import read_json
    from clearhead.compare.table import as_markdown

    print("\n".join(as_markdown(read_json(file)) for file in files), end="")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _finish(
    verb: str,
    setting: str,
    machine: "Machine",
    heats: "list[Heat]",
    remarks: list[str],
    json: Path | None,
) -> None:
    from clearhead.compare.results import Results, write_json
    from clearhead.compare.table import as_markdown

    results = Results(f"clearhead bench {verb}", setting, machine, heats, remarks)
    if json:
        write_json(results, json)
    print(as_markdown(results), end="")
