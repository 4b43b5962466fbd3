"""Probabilities that mean what they say: a temperature fitted on held-out records."""

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from clearhead.biology.answering import scores_of
from clearhead.biology.examples import Encoder, both_strands, numbers_of
from clearhead.biology.linear_part import PositionWeights
from clearhead.biology.model import CALIBRATION, load_model, resave
from clearhead.biology.scale import standardised
from clearhead.data.labelled_batches import NOTHING
from clearhead.data.sequences import Record
from clearhead.evaluation.labelled import fit_temperature, probabilities, reliability
from clearhead.explain.plots.biology import draw_reliability
from clearhead.files import atomic_write
from clearhead.training.recipe_file import load_recipe
from clearhead.training.run_directory import RunDirectory
from clearhead.training.tasks.labelled_examples import load_examples

log = logging.getLogger("clearhead.train")


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
            resave(model, loaded.vocabulary, run / "best")


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
    accuracy = float((logits.argmax(axis=1) == truth).mean())
    values = {"temperature": temperature, "error": after, "labels": len(truth)}
    atomic_write(best / CALIBRATION, json.dumps(values, indent=2) + "\n")
    draw_reliability(table, after, best / "reliability.svg")
    log.info(
        "%d held-out labels: accuracy %.3f; calibrated with temperature %.2f, calibration error "
        "%.3f (before %.3f)",
        len(truth), accuracy, temperature, after, before,
    )  # fmt: skip


def held_out_scores(run: Path) -> tuple[NDArray[Any], NDArray[Any]]:
    """A run's scores of the labels that it did not learn from, and the labels.

    Shape: -> (labels, outputs), (labels,)
    """
    directory = RunDirectory(run)
    recipe = load_recipe(str(directory.config))
    examples, loaded = load_examples(directory, Record), load_model(run)
    answer: Any = recipe.model_dump()["data"]["answer"]
    encode = Encoder(loaded.vocabulary, examples.labels, answer, loaded.config.longest)
    dev = encode(examples.dev)
    found = scores_of(loaded.models[0], [example.ids for example in dev])
    logits = np.concatenate([np.atleast_2d(row) for row in found])
    labels = np.concatenate([np.array(example.targets) for example in dev])
    counted = labels != NOTHING
    return logits[counted], labels[counted]
