"""The whole study: five experiments, one after the other, and a directory that holds them."""

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from clearhead.compare.hardware import Machine
from clearhead.compare.rnn.entrants import NAMES, Model, make, sizes
from clearhead.compare.rnn.findings import questions
from clearhead.compare.rnn.gradients import gradient_by_distance
from clearhead.compare.rnn.numbers import Gradients, Lesson, Numbers, PerName
from clearhead.compare.rnn.pictures import pictures
from clearhead.compare.rnn.recall import Task, measure_recall
from clearhead.compare.rnn.report import as_markdown
from clearhead.compare.rnn.translation import Course, evenly, teach
from clearhead.compare.rnn.wall import measure_wall
from clearhead.compare.rnn.writing import measure_writing
from clearhead.compare.setting import in_words
from clearhead.files import atomic_write
from clearhead.models import TransformerConfig

FORMAT_VERSION = 1
WALL_SECONDS = 45.0  # then one round a length must do
Say = Callable[[str], None]


@dataclass(frozen=True)
class Study:
    """How much of everything; `settings` has the two that the command offers."""

    config: TransformerConfig
    lengths: list[int]  # of the wall, and of what is written
    tokens: int
    rounds: int
    longest: int  # distance of a gradient
    directions: int
    recall: Task
    courses: list[Course]


def run(study: Study, machine: Machine, say: Say) -> Numbers:
    """Measure everything; the first course's models are looked at again when they have learnt."""
    config = study.config
    say("the sequential wall")
    wall = measure_wall(config, study.lengths, study.tokens, (study.rounds, WALL_SECONDS), say)
    say("gradients by distance")
    fresh = {name: _norms(make(name, config, seed=1), study) for name in NAMES}
    say("recall")
    recall = measure_recall(study.recall, say)
    lessons, trained = _lessons(study, say)
    say("writing")
    writing = measure_writing(config, study.lengths, study.rounds, say)
    distances = list(range(1, study.longest + 1))
    return Numbers(
        f"{in_words(config)}, tied tables, float32; the same loss, Adam and learning rate for all.",
        machine,
        dict(sizes(config)),
        wall,
        Gradients(distances, fresh, trained),
        recall,
        lessons,
        writing,
    )


def _lessons(study: Study, say: Say) -> tuple[list[Lesson], PerName]:
    lessons: list[Lesson] = []
    trained: PerName = {}
    for course in study.courses:
        say(f"translating: {course.title}")
        curves = {}
        for name, model, curve in teach(course, study.config, say):
            curves[name] = curve
            if not lessons:
                trained[name] = _norms(model, study)
        lessons.append(Lesson(course.title, course.pairs, course.seconds, curves))
    return lessons, trained


def _norms(model: Model, study: Study) -> list[float]:
    return gradient_by_distance(model, study.longest, study.directions, seed=1)


def write(found: Numbers, directory: Path) -> None:
    """report.md, numbers.json and the pictures."""
    for name, picture in pictures(found):
        picture.save(directory / f"{name}.png")
    sentences = [question.sentence() for question in questions(found)]
    record = {
        "format_version": FORMAT_VERSION,
        **dataclasses.asdict(found),
        "findings": [
            {"winner": question.winner, "sentence": sentence}
            for question, sentence in zip(questions(found), sentences, strict=True)
        ],
    }
    text = json.dumps(record, indent=1, ensure_ascii=False)
    atomic_write(directory / "numbers.json", text + "\n")
    atomic_write(directory / "report.md", as_markdown(found))


def default_study(data: str | None) -> Study:
    """About nine minutes on two cores; with a corpus of one's own four more."""
    config = sizes_of(128, 4, 2, 2000)
    grammar = Course(
        "Grammar corpus",
        train="grammar:train:20000",
        dev="grammar:dev:200",
        pairs=20000,
        dev_pairs=200,
        seconds=45,
        looks=evenly(4),
        batch_tokens=1024,
        vocabulary=2000,
    )
    title = "Tiny grammar corpus"
    tiny = replace(grammar, title=title, pairs=500, seconds=12, looks=evenly(3), batch_tokens=512)
    own = (
        [replace(grammar, title=Path(data).name, train=data, dev=data, pairs=100_000)]
        if data
        else []
    )
    recall = Task(sizes_of(64, 4, 1, 100), [8, 32, 128, 256], 16, 16, 32, 400, 20.0)
    lengths = [16, 32, 64, 128, 256, 512]
    return Study(config, lengths, 2048, 3, 512, 8, recall, [grammar, tiny, *own])


def quick_study(data: str | None) -> Study:
    """The same road in seconds; its numbers say nothing."""
    config = sizes_of(48, 3, 1, 400)
    course = Course(
        "Grammar corpus", "grammar:train:60", "grammar:dev:9", 60, 9, 0.4, evenly(2), 256, 400
    )
    own = [replace(course, title=Path(data).name, train=data, dev=data)] if data else []
    recall = Task(sizes_of(48, 3, 1, 100), [3, 6], 5, 4, 8, 20, 0.5)
    return Study(config, [8, 16], 64, 1, 24, 3, recall, [course, *own])


def sizes_of(d_model: int, h: int, layers: int, vocabulary: int) -> TransformerConfig:
    """The Transformer that the RNNs are matched to, with room for every length that is asked."""
    return TransformerConfig(
        vocabulary,
        vocabulary,
        src_seq_len=640,
        tgt_seq_len=640,
        d_model=d_model,
        encoder_layers=layers,
        decoder_layers=layers,
        h=h,
        d_ff=4 * d_model,
        dropout=0.1,
        tie_embeddings=True,
    )
