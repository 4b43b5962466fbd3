"""Everything that is asked of a width, and the directory that holds the answers."""

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from clearhead.compare.hardware import Machine
from clearhead.compare.rnn.lesson import PEAK
from clearhead.compare.rnn.numbers import Point
from clearhead.compare.rnn.translation import Classroom, Course, evenly
from clearhead.compare.width.counts import Counts, count_bert, count_translator
from clearhead.compare.width.rungs import GENOMICS, WIDTHS, translator
from clearhead.compare.width.throughput import reading_speed, training_speed
from clearhead.models import Transformer

FORMAT_VERSION = 1
NARROWEST = 128  # whose learning rate is `PEAK`
# The narrowest reads some ten times as fast as the widest: only what is looked at early was
# looked at after no more tokens than the widest has read in the end.
DOUBLING = [1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Study:
    """How much of everything; `genomics` is how many of the published models are run."""

    widths: list[int]
    course: Course
    shape: tuple[int, int]  # tokens a batch, tokens a sentence
    rounds: int
    text: int  # tokens that a model of genomes reads
    genomics: int


@dataclass(frozen=True)
class Width:
    """One rung of the ladder."""

    d_model: int
    counts: Counts
    tokens_per_second: float  # in training
    kept_mb: float  # activations that wait for the way back
    curve: list[Point]


@dataclass(frozen=True)
class Genomic:
    """A published model at its own width."""

    name: str
    reads: str
    d_model: int
    layers: int
    counts: Counts
    tokens_per_second: float  # reading


@dataclass(frozen=True)
class Numbers:
    """The whole study."""

    machine: Machine
    study: Study
    vocabulary: int
    widths: list[Width]
    genomics: list[Genomic]


def run(study: Study, machine: Machine, say: Say) -> Numbers:
    """Learn at every width for the same time, then count and measure."""
    with TemporaryDirectory() as folder:
        room = Classroom(study.course, Path(folder))
        vocabulary = room.tokenizer.vocab_size
        curves = {width: _learn(room, width, vocabulary, say) for width in study.widths}
    say("speed of training")
    speeds, kept = training_speed(study.widths, vocabulary, study.shape, study.rounds)
    length = study.shape[1]
    rungs = [
        Width(w, count_translator(translator(w, vocabulary), length), speeds[w], kept[w], curves[w])
        for w in study.widths
    ]
    return Numbers(machine, study, vocabulary, rungs, _genomics(study, say))


def _learn(room: Classroom, width: int, vocabulary: int, say: Say) -> list[Point]:
    say(f"d_model {width} learns for {room.course.seconds:.0f} s")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        model = Transformer.from_config(translator(width, vocabulary))
        # Equation 3 of the paper: the wider, the smaller the steps, by the root of the width.
        return room.learn(model, PEAK * (NARROWEST / width) ** 0.5)


def _genomics(study: Study, say: Say) -> list[Genomic]:
    found = []
    for model in GENOMICS[: study.genomics]:
        say(f"{model.name} reads {study.text} tokens")
        config = model.config
        counts = count_bert(config, study.text)
        speed = reading_speed(config, study.text, study.rounds)
        sizes = (config.d_model, config.layers)
        found.append(Genomic(model.name, model.reads, *sizes, counts, speed))
    return found


def record(found: Numbers) -> str:
    """All numbers as JSON."""
    everything = {"format_version": FORMAT_VERSION, **dataclasses.asdict(found)}
    return json.dumps(everything, indent=1, ensure_ascii=False) + "\n"


def default_study() -> Study:
    """About seven minutes on two cores."""
    course = Course(
        "Grammar corpus",
        train="grammar:train:20000",
        dev="grammar:dev:200",
        pairs=20000,
        dev_pairs=200,
        seconds=60,
        looks=DOUBLING,
        batch_tokens=2048,
        vocabulary=2000,
    )
    return Study(list(WIDTHS), course, (1024, 16), 3, 512, len(GENOMICS))


def quick_study() -> Study:
    """The same road in seconds; its numbers say nothing."""
    course = Course(
        "Grammar corpus", "grammar:train:60", "grammar:dev:9", 60, 9, 0.3, evenly(2), 256, 400
    )
    study = default_study()
    return replace(study, widths=[64, 128], course=course, shape=(64, 8), rounds=1, genomics=0)
