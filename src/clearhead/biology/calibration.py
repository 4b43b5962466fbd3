"""Probabilities that mean what they say: a temperature fitted on held-out records."""

import json
import logging
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from clearhead.biology.answering import run_over, scores_of
from clearhead.biology.examples import Encoder, both_strands, numbers_of
from clearhead.biology.linear_part import PairWeights, PositionWeights
from clearhead.biology.model import CALIBRATION, Loaded, SequenceModel, load_model, save_model
from clearhead.biology.scale import standardised
from clearhead.biology.vocabulary import FILE as VOCABULARY
from clearhead.data.labelled_batches import NOTHING
from clearhead.data.sequences import Record
from clearhead.evaluation.labelled import fit_temperature, probabilities, reliability
from clearhead.explain.plots.biology import draw_reliability
from clearhead.files import atomic_write, record_checksums
from clearhead.training.recipe_file import load_recipe
from clearhead.training.run_directory import RunDirectory
from clearhead.training.tasks.labelled_examples import load_examples

log = logging.getLogger("clearhead.train")
WEIGHTS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # of the regression of pairs


def refit_linear_part(runs: list[Path]) -> None:
    """Fit the ridge regression of numbers again, on the held-out records as well.

    Nothing was chosen by them for it, and where there are few records each one counts.
    """
    for run in runs:
        examples, loaded = load_examples(RunDirectory(run), Record), load_model(run)
        model, records = loaded.models[0], [*examples.train, *examples.dev]
        if isinstance(model.linear, PositionWeights):
            records = both_strands(records) if model.config.strands else records
            ids = torch.tensor([loaded.vocabulary.encode(record.sequence) for record in records])
            values = standardised(np.array(numbers_of(records)), model.config.scale)
            model.linear.fit(model.read(ids).numpy(), torch.from_numpy(values))
            _save(model, loaded, run / "best")


def calibrate(runs: list[Path], best: Path) -> None:
    """Fit one temperature on what each run did not learn from; save it beside the model.

    A model of numbers has no probabilities: nothing is written.
    """
    sides = [held_out_scores(run) for run in runs]
    logits = np.concatenate([scores for scores, _ in sides])
    truth = np.concatenate([labels for _, labels in sides])
    if logits.shape[-1] == 1:
        return
    temperature = fit_temperature(logits, truth)
    _, before = reliability(probabilities(logits), truth)
    table, after = reliability(probabilities(logits, temperature), truth)
    values = {"temperature": temperature, "error": after, "labels": len(truth)}
    atomic_write(best / CALIBRATION, json.dumps(values, indent=2) + "\n")
    draw_reliability(table, after, best / "reliability.svg")
    log.info(
        "calibrated on %d held-out labels: temperature %.2f, calibration error %.3f (before %.3f)",
        len(truth), temperature, after, before,
    )  # fmt: skip


@torch.inference_mode()
def weigh_pairs(runs: list[Path]) -> None:
    """Choose how much the regression of pairs counts beside the Transformer, and save it so.

    The weight and a temperature minimise the cross-entropy on what each run did not learn from.
    """
    sides = [held_out(run) for run in runs]
    models = [loaded.models[0] for loaded, _, _ in sides]
    if not isinstance(models[0].linear, PairWeights):
        return
    truth = np.concatenate([labels for _, _, labels in sides])
    both = np.concatenate([scores_of(model, s.ids) for model, s in zip(models, sides, strict=True)])
    alone = np.concatenate(
        [run_over(m, s.ids, m.without_linear) for m, s in zip(models, sides, strict=True)]
    )

    def loss(weight: float) -> float:
        scores = alone + weight * (both - alone)
        chances = probabilities(scores, fit_temperature(scores, truth))
        return -float(np.log(np.maximum(chances[np.arange(len(truth)), truth], 1e-300)).mean())

    best = min(WEIGHTS, key=loss)
    log.info("the regression of pairs counts %g times", best)
    for run, model, side in zip(runs, models, sides, strict=True):
        assert isinstance(model.linear, PairWeights)
        model.linear.weight.mul_(best)
        model.linear.bias.mul_(best)
        _save(model, side.loaded, run / "best")


def _save(model: SequenceModel, loaded: Loaded, best: Path) -> None:
    save_model(model, loaded.vocabulary, best)
    record_checksums(best, ("config.json", "model.safetensors", VOCABULARY))


class HeldOut(NamedTuple):
    """A run's model, the sequences that it did not learn from, and their labels (all in a row)."""

    loaded: Loaded
    ids: list[list[int]]
    labels: NDArray[Any]


def held_out(run: Path) -> HeldOut:
    """Of a finished run."""
    directory = RunDirectory(run)
    recipe = load_recipe(str(directory.config))
    examples, loaded = load_examples(directory, Record), load_model(run)
    answer: Any = recipe.model_dump()["data"]["answer"]
    encode = Encoder(loaded.vocabulary, examples.labels, answer, loaded.config.longest)
    dev = encode(examples.dev)
    labels = np.concatenate([np.array(example.targets) for example in dev])
    return HeldOut(loaded, [list(example.ids) for example in dev], labels)


def held_out_scores(run: Path) -> tuple[NDArray[Any], NDArray[Any]]:
    """A run's scores of the labels that it did not learn from, and the labels.

    Shape: -> (labels, outputs), (labels,)
    """
    loaded, ids, labels = held_out(run)
    found = scores_of(loaded.models[0], ids)
    logits = np.concatenate([np.atleast_2d(row) for row in found])
    counted = labels != NOTHING
    return logits[counted], labels[counted]
