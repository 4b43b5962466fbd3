"""`clearhead compare d-model`: what a larger d_model costs and what it gains.

Translators of several widths are trained for the same time; parameters, FLOP and memory are
counted without running anything; published models of genomes show the widths of practice.
"""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from clearhead.blocks import decoder_mask, padding_mask
from clearhead.compare.rnn import training
from clearhead.compare.rnn.costs import activation_bytes, batch_of, train_step
from clearhead.compare.rnn.findings import CurvePoint
from clearhead.compare.rnn.translator import TRANSFORMER, Model, make_model, transformer_config
from clearhead.compare.timing import Candidate, Machine, Progress, measure, median_rate
from clearhead.compare.workloads import matrix_flop, temporary_folder
from clearhead.models import Transformer, TransformerConfig, count_parameters
from clearhead.models.bert import Bert, BertConfig

FORMAT_VERSION = 2
WIDTHS = (128, 256, 384, 512, 768)
D_K, LAYERS = 64, 2
NARROWEST = 128  # trained with the learning rate `PEAK`
TRAINING_COPIES = 4  # weight, gradient and Adam's two moments, 4 bytes each
# The narrowest model sees about ten times as many tokens as the widest. Early evaluations allow a
# comparison after equal numbers of tokens.
DOUBLING = [1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0]


@dataclass(frozen=True)
class Published:
    """The hyperparameters of a published model."""

    name: str
    input: str
    config: BertConfig


# DNABERT: Ji et al. 2021, a token is a 6-mer (4^6 and 5 special tokens). Geneformer: Theodoris et
# al. 2023, a token is a gene, a text the genes of a cell by rank; both sizes of its first release.
GENOMICS = (
    Published("DNABERT", "DNA as 6-mers", BertConfig(vocab_size=4101)),
    Published(
        "Geneformer, 12 layers",
        "genes of a cell by rank",
        BertConfig(25426, 2048, 512, layers=12, h=8, d_ff=1024, activation="relu"),
    ),
    Published(
        "Geneformer, 6 layers",
        "genes of a cell by rank",
        BertConfig(25426, 2048, 256, layers=6, h=4, d_ff=512, activation="relu"),
    ),
)


@dataclass(frozen=True)
class Counts:
    """What follows from the hyperparameters of a model alone."""

    parameters: int
    flop: float  # per token, forward pass; a multiply-add counts as two
    weights_mb: float  # float32
    training_mb: float  # with gradients and Adam's moments, without activations


@dataclass(frozen=True)
class Study:
    """The extent of the measurements; `genomics` is the number of published models."""

    widths: list[int]
    task: training.TranslationTask
    shape: tuple[int, int]  # tokens per batch, tokens per sentence
    rounds: int
    text: int  # tokens that a model of genomes reads
    genomics: int


@dataclass(frozen=True)
class Width:
    """A translator of one width."""

    d_model: int
    counts: Counts
    tokens_per_second: float  # in training
    activations_mb: float  # kept for the backward pass
    curve: list[CurvePoint]


@dataclass(frozen=True)
class Genomic:
    """A published model."""

    name: str
    input: str
    d_model: int
    layers: int
    counts: Counts
    tokens_per_second: float  # in inference


@dataclass(frozen=True)
class WidthResults:
    """All measurements of the study."""

    machine: Machine
    study: Study
    vocabulary: int
    widths: list[Width]
    genomics: list[Genomic]


def default_study() -> Study:
    """About seven minutes on two cores."""
    task = replace(training.GRAMMAR, seconds=60, evaluations=DOUBLING, batch_tokens=2048)
    return Study(list(WIDTHS), task, (1024, 16), 3, 512, len(GENOMICS))


def quick_study() -> Study:
    """A few seconds; checks the pipeline, not the results."""
    return Study([64, 128], replace(training.QUICK, seconds=0.3), (64, 8), 1, 512, 0)


def translator(d_model: int, vocabulary: int) -> TransformerConfig:
    """Two layers each, heads of 64, d_ff = 4 · d_model, tied embeddings: only the width varies."""
    heads = max(1, d_model // D_K)
    return transformer_config(d_model, heads, LAYERS, vocabulary, seq_len=128)


def count_translator(config: TransformerConfig, length: int) -> Counts:
    """For a source and a target of `length` tokens each; FLOP are per target token."""
    with torch.device("meta"):  # shapes only
        ids = torch.zeros(1, length, dtype=torch.long)
        inputs = ids, ids, padding_mask(ids, 0), decoder_mask(ids, 0)
        return _counts(Transformer.from_config(config).eval(), inputs)


def count_bert(config: BertConfig, length: int) -> Counts:
    """For one text of `length` tokens."""
    with torch.device("meta"):
        return _counts(Bert(config).eval(), (torch.zeros(1, length, dtype=torch.long),))


def _counts(model: nn.Module, inputs: tuple[Tensor, ...]) -> Counts:
    parameters, flop = count_parameters(model), matrix_flop(model, *inputs)
    megabytes = 4 * parameters / 1e6
    return Counts(parameters, flop / inputs[0].shape[1], megabytes, TRAINING_COPIES * megabytes)


def run(study: Study, machine: Machine, progress: Progress) -> WidthResults:
    """Train every width for the same time, then count and measure."""
    with temporary_folder() as folder:
        experiment = training.Experiment(study.task, Path(folder))
        vocabulary = experiment.tokenizer.vocab_size
        curves = {width: _train(experiment, width, progress) for width in study.widths}
    progress("training speed")
    speeds, memory = training_speed(study.widths, vocabulary, study.shape, study.rounds)
    counts = {w: count_translator(translator(w, vocabulary), study.shape[1]) for w in study.widths}
    widths = [Width(w, counts[w], speeds[w], memory[w], curves[w]) for w in study.widths]
    genomics = []
    for model in GENOMICS[: study.genomics]:
        progress(f"{model.name} reads {study.text} tokens")
        config = model.config
        model_counts = count_bert(config, study.text)
        speed = inference_speed(config, study.text, study.rounds)
        sizes = config.d_model, config.layers
        genomics.append(Genomic(model.name, model.input, *sizes, model_counts, speed))
    return WidthResults(machine, study, vocabulary, widths, genomics)


def _model(width: int, vocabulary: int) -> Model:
    return make_model(TRANSFORMER, translator(width, vocabulary), seed=1)


def _train(experiment: training.Experiment, width: int, progress: Progress) -> list[CurvePoint]:
    progress(f"d_model {width} trains for {experiment.task.seconds:.0f} s")
    # Equation 3 of the paper: the learning rate is proportional to d_model^-0.5.
    peak = training.PEAK * (NARROWEST / width) ** 0.5
    return experiment.train(_model(width, experiment.tokenizer.vocab_size), peak)


def training_speed(
    widths: list[int], vocabulary: int, shape: tuple[int, int], rounds: int
) -> tuple[dict[int, float], dict[int, float]]:
    """For each width, target tokens per second and MB of activations in a training step."""
    batch = batch_of(translator(widths[0], vocabulary), *shape)
    trainers = {width: training.SimpleTrainer(_model(width, vocabulary)) for width in widths}
    candidates = [Candidate(str(w), partial(train_step, trainers[w], batch)) for w in widths]
    found = measure(candidates, rounds)
    speeds = {width: median_rate(found[str(width)]) for width in widths}
    return speeds, {width: activation_bytes(trainers[width], batch) / 1e6 for width in widths}


def inference_speed(config: BertConfig, length: int, rounds: int) -> float:
    """Tokens per second of one text, with random weights."""
    model = Bert.from_config(config).eval()
    ids = torch.randint(5, config.vocab_size, (1, length))

    def read() -> float:
        with torch.inference_mode():
            model(ids)
        return float(length)

    return median_rate(measure([Candidate("", read)], rounds)[""])
