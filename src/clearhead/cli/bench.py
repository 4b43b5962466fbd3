"""`clearhead bench`: how fast are we, and how fast are others, on this machine?"""

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clearhead.cli import bench_options as given
from clearhead.cli.machine_options import Device

if TYPE_CHECKING:
    from clearhead.compare.hardware import Machine
    from clearhead.compare.results import Heat

app = typer.Typer(
    help="Race others on this machine: paired, alternating, the median of several rounds.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
def training(
    only: given.Only = None,
    rounds: given.Rounds = 9,
    threads: given.Threads = None,
    json: given.Json = None,
    size: given.Size = "race",
    vocabulary: given.Vocabulary = 8000,
    batch: given.Batch = 128,
    length: given.Length = 16,
    device: Device = "cpu",
) -> None:
    """One training step on one batch, against every peer that is installed."""
    from clearhead.compare.setting import make_task, ready, task_in_words
    from clearhead.compare.training_race import training_heat

    machine = ready(threads)
    with tempfile.TemporaryDirectory() as folder:
        task = make_task(size, vocabulary, (batch, length), Path(folder), device)
        heat, remarks = training_heat(task, only or [], rounds, _say)
    setting = task_in_words(task, batch, length)
    _finish("training", setting, machine, [heat], remarks, json)


@app.command()
def epoch(
    data: given.Data = "grammar:train:20000",
    lines: given.Lines = 1_000_000,
    seconds: given.Seconds = 20.0,
    rounds: given.Rounds = 3,
    threads: given.Threads = None,
    json: given.Json = None,
    size: given.Size = "race",
    batch_tokens: given.BatchTokens = 4096,
    model: given.Model = None,
) -> None:
    """Training on a corpus, batching included: token batches against fixed padding.

    The tokenizer is the one of --model.
    """
    from clearhead.compare.epoch_race import epoch_heat
    from clearhead.compare.setting import in_words, named, read_epoch, ready
    from clearhead.text import Tokenizer
    from clearhead.translation.location import find_model

    machine = ready(threads)
    tokenizer = Tokenizer.load(find_model(model))
    with tempfile.TemporaryDirectory() as folder:
        _say(f"encoding {data}")
        found = read_epoch(tokenizer, data, lines, batch_tokens, size, Path(folder))
        heat, remarks = epoch_heat(found, seconds, rounds, _say)
    _finish("epoch", f"{in_words(found.config)}, {named(data)}", machine, [heat], remarks, json)


@app.command()
def decoding(
    data: given.Data = "grammar:test:640",
    lines: given.Lines = 640,
    batch: given.Batches = [64, 1],  # noqa: B006 - typer copies it
    beam_size: given.Beams = [1, 4],  # noqa: B006
    only: given.Only = None,
    rounds: given.Rounds = 5,
    threads: given.Threads = None,
    json: given.Json = None,
    model: given.Model = None,
) -> None:
    """The same translations by the same weights in other engines.

    At batch 1 an eighth of the lines is translated, greedily.
    """
    from clearhead.compare.decoding_race import decoding_heats, muster
    from clearhead.compare.setting import in_words, named, open_subject, read_sources, ready

    machine = ready(threads)
    with open_subject(model) as subject:
        sources = read_sources(subject, data, lines)
        engines, remarks = muster(subject, only or [])
        heats = decoding_heats(engines, subject, sources, (batch, beam_size), rounds, _say)
    which = named(model) if model else "the shipped model"
    setting = f"{which}, {in_words(subject.model.config)}, {named(data)}"
    _finish("decoding", setting, machine, heats, remarks, json)


@app.command()
def length(
    longest: given.Longest = 512,
    batch: given.Batch = 16,
    rounds: given.Rounds = 5,
    threads: given.Threads = None,
    json: given.Json = None,
    size: given.Size = "race",
    vocabulary: given.Vocabulary = 8000,
    plot: given.Plot = None,
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
        race.plot(found, plot)
    _finish("length", in_words(config), machine, [heat], [race.remark(found)], json)


@app.command()
def limits(
    matrix: given.Matrix = 2048,
    megabytes: given.Megabytes = 512,
    rounds: given.Rounds = 9,
    threads: given.Threads = None,
    json: given.Json = None,
    size: given.Size = "race",
    vocabulary: given.Vocabulary = 8000,
    batch: given.Batch = 128,
    length: given.Length = 16,
    model: given.Model = None,
    device: Device = "cpu",
) -> None:
    """What this machine could do at most, and the share that training and decoding reach."""
    from clearhead.compare.limits import arithmetic_heat, memory_heat
    from clearhead.compare.setting import make_task, open_subject, ready, task_in_words

    machine = ready(threads)
    with tempfile.TemporaryDirectory() as folder, open_subject(model) as subject:
        task = make_task(size, vocabulary, (batch, length), Path(folder), device)
        heats = [
            arithmetic_heat(task, matrix, rounds, _say),
            memory_heat(subject, megabytes, rounds, _say),
        ]
    setting = task_in_words(task, batch, length)
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
