"""`clearhead compare rnn`: five experiments, and a report of them in Markdown and JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from clearhead.compare.results import as_json, format_number, markdown_table
from clearhead.compare.rnn import findings, training, translator
from clearhead.compare.rnn.costs import measure_decoding_cost, measure_step_cost
from clearhead.compare.rnn.long_range import RecallTask, gradient_by_distance, measure_recall
from clearhead.compare.rnn.plots import plots
from clearhead.compare.timing import Machine, Progress
from clearhead.compare.workloads import base_names, describe_config, temporary_folder
from clearhead.files import atomic_write
from clearhead.models import TransformerConfig

FORMAT_VERSION = 2
STEP_SECONDS = 45.0  # after which one more round per length must suffice


@dataclass(frozen=True)
class Study:
    """The extent of every experiment."""

    config: TransformerConfig
    lengths: list[int]  # of sentences in training steps, and of decoded sentences
    tokens: int
    rounds: int
    longest: int  # distance of a gradient
    directions: int
    recall: RecallTask
    translation: list[training.TranslationTask]


def study_config(d_model: int, h: int, layers: int, vocabulary: int) -> TransformerConfig:
    """The Transformer whose number of parameters the RNNs match."""
    return translator.transformer_config(d_model, h, layers, vocabulary, seq_len=640)


def default_study(data: str | None) -> Study:
    """About nine minutes on two cores; four more with `data`."""
    tiny = replace(
        training.GRAMMAR,
        title="Tiny grammar corpus",
        pairs=500,
        seconds=12,
        evaluations=training.even_shares(3),
        batch_tokens=512,
    )
    recall = RecallTask(study_config(64, 4, 1, 100), [8, 32, 128, 256], 16, 16, 32, 400, 20.0)
    tasks = [training.GRAMMAR, tiny, *_own_task(replace(training.GRAMMAR, pairs=100_000), data)]
    lengths = [16, 32, 64, 128, 256, 512]
    return Study(study_config(128, 4, 2, 2000), lengths, 2048, 3, 512, 8, recall, tasks)


def quick_study(data: str | None) -> Study:
    """A few seconds; checks the pipeline, not the results."""
    recall = RecallTask(study_config(48, 3, 1, 100), [3, 6], 5, 4, 8, 20, 0.5)
    tasks = [training.QUICK, *_own_task(training.QUICK, data)]
    return Study(study_config(48, 3, 1, 400), [8, 16], 64, 1, 24, 3, recall, tasks)


def _own_task(task: training.TranslationTask, data: str | None) -> list[training.TranslationTask]:
    return [replace(task, title=base_names(data), train=data, dev=data)] if data else []


def run(study: Study, machine: Machine, progress: Progress) -> findings.StudyResults:
    """Run all experiments; gradients are measured again in the models of the first translation."""
    config = study.config
    progress("training step by sentence length")
    limits = study.rounds, STEP_SECONDS
    step_cost = measure_step_cost(config, study.lengths, study.tokens, limits, progress)
    progress("gradients by distance")
    untrained = {
        name: _gradient(translator.make_model(name, config, seed=1), study)
        for name in translator.NAMES
    }
    progress("recall by distance")
    recall = measure_recall(study.recall, progress)
    translation, trained = _translation(study, progress)
    progress("decoding by length")
    return findings.StudyResults(
        f"{describe_config(config)}, tied embeddings, float32; the same loss, optimizer (Adam) and "
        "learning rate for all.",
        machine,
        dict(translator.model_sizes(config)),
        step_cost,
        findings.Gradients(list(range(1, study.longest + 1)), untrained, trained),
        recall,
        translation,
        measure_decoding_cost(config, study.lengths, study.rounds, progress),
    )


def _translation(
    study: Study, progress: Progress
) -> tuple[list[findings.TranslationCurves], findings.PerModel]:
    found: list[findings.TranslationCurves] = []
    trained: findings.PerModel = {}
    for task in study.translation:
        progress(f"translating: {task.title}")
        curves = {}
        with temporary_folder() as folder:
            experiment = training.Experiment(task, Path(folder))
            for name, model, curve in training.train_all(experiment, study.config, progress):
                curves[name] = curve
                if not found:
                    trained[name] = _gradient(model, study)
            pairs = len(experiment.corpus)
        found.append(findings.TranslationCurves(task.title, pairs, task.seconds, curves))
    return found, trained


def _gradient(model: translator.Model, study: Study) -> list[float]:
    return gradient_by_distance(model, study.longest, study.directions, seed=1)


def write(found: findings.StudyResults, directory: Path) -> None:
    """Write report.md, numbers.json and the plots."""
    for name, plot in plots(found):
        plot.save(directory / f"{name}.png")
    answers = [{"winner": q.winner, "sentence": q.sentence()} for q in findings.questions(found)]
    record = asdict(found) | {"findings": answers}
    atomic_write(directory / "numbers.json", as_json(FORMAT_VERSION, record))
    atomic_write(directory / "report.md", as_markdown(found))


def as_markdown(found: findings.StudyResults) -> str:
    """The conclusions, then every experiment with its plot and table."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: findings.StudyResults) -> Iterator[str]:
    yield "# RNNs and the Transformer, measured\n"
    yield f"{found.setting}\n\nMachine: {found.machine}.\n"
    rows = [[n, f"{s.hidden:,}", f"{s.parameters:,}"] for n, s in found.sizes.items()]
    yield from markdown_table(["", "width of the state", "parameters"], rows)
    yield from _conclusions(found)
    yield from _step_section(found.training_step)
    yield from _gradient_section(found.gradients)
    yield from _recall_section(found.recall)
    for number, curves in enumerate(found.translation, 1):
        yield from _translation_section(curves, number)
    decoding = found.decoding
    yield from _heading("Decoding one sentence", "decoding")
    yield "Kilobytes of state, by decoded tokens:\n"
    yield from _table("tokens", decoding.lengths, decoding.kilobytes)
    yield "\nMicroseconds per token:\n"
    yield from _table("tokens", decoding.lengths, decoding.microseconds)


def _conclusions(found: findings.StudyResults) -> Iterator[str]:
    every = list(findings.questions(found))
    for title, winners in (
        ("Where the Transformer wins", [translator.TRANSFORMER]),
        ("Where an RNN wins", list(translator.RECURRENT)),
        ("Too close to call (within 5 %, or within chance)", [findings.TIE]),
    ):
        yield f"\n## {title}\n"
        chosen = [f"- {question.sentence()}." for question in every if question.winner in winners]
        yield from chosen or ["Nowhere in this run."]


def _step_section(cost: findings.StepCost) -> Iterator[str]:
    yield from _heading("A training step by sentence length", "training_step")
    fitted = findings.exponents(cost.lengths, cost.seconds).items()
    yield (
        f"Every step has {cost.tokens:,} source and target tokens. Its time grows with the length "
        "of the sentences to the power (0: constant, 1: proportional) "
        + ", ".join(f"{name} {exponent:.2f}" for name, exponent in fitted)
        + ".\n\nMilliseconds per step:\n"
    )
    yield from _table("sentence length", cost.lengths, cost.seconds, 1e3)
    yield "\nMegabytes kept for the backward pass:\n"
    yield from _table("sentence length", cost.lengths, cost.megabytes)


def _gradient_section(gradients: findings.Gradients) -> Iterator[str]:
    yield from _heading("Gradient by distance", "gradients")
    for when, norms in (("Untrained", gradients.untrained), ("Trained", gradients.trained)):
        for name, own in norms.items():
            shares = findings.remaining(gradients.distances, own)
            end, longest = findings.reach(gradients.distances, shares), gradients.distances[-1]
            where = f"below 1 % from distance {end} on; " if end else ""
            yield f"- {when}, {name}: {where}{format_number(100 * shares[-1])} % left at {longest}."


def _recall_section(recall: findings.Recall) -> Iterator[str]:
    yield from _heading("Recall of a token n positions back", "recall")
    yield (
        f"One of {recall.symbols} symbols, then noise; chance is {100 / recall.symbols:.1f} %. "
        "Training ends at 99 % or when all sequences are used up; fewer sequences and less than "
        "99 % mean that the time ran out. Accuracy, %:\n"
    )
    yield from _table("distance", recall.distances, recall.accuracy, 100)
    yield "\nTraining sequences:\n"
    limits = {"limit": [float(count) for count in recall.limits]}
    yield from _table("distance", recall.distances, recall.sequences | limits)


def _translation_section(found: findings.TranslationCurves, number: int) -> Iterator[str]:
    title = f"Translation: {found.title}, {found.pairs:,} pairs"
    yield from _heading(title, f"translation_{number}")
    rows = []
    for name, curve in found.curves.items():
        last, best = curve[-1], min(point.loss for point in curve)
        losses = f"{last.loss:.2f}", f"{best:.2f}"
        rows.append([name, f"{last.tokens:,}", f"{last.bleu:.1f}", *losses])
    yield f"After {found.seconds:.0f} s of training each:\n"
    yield from markdown_table(["", "training tokens", "BLEU", "loss", "best loss"], rows)


def _heading(title: str, plot: str) -> Iterator[str]:
    yield f"\n## {title}\n"
    yield f"![{title}]({plot}.png)\n"


def _table(
    label: str, xs: Sequence[int], values: findings.PerModel, factor: float = 1
) -> Iterator[str]:
    rows = [[name, *(format_number(factor * v) for v in own)] for name, own in values.items()]
    return markdown_table([label, *(f"{x:,}" for x in xs)], rows)
