"""Probabilities that mean what they say: a temperature fitted on held-out records."""

import json
import logging
import re
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from clearhead.biology.answering import counted_scores
from clearhead.biology.examples import Encoder, both_strands, is_split_off, numbers_of
from clearhead.biology.linear_part import PositionWeights
from clearhead.biology.model import CALIBRATION, load_model, resave
from clearhead.biology.recipe import BiologyRecipe
from clearhead.biology.scale import standardized
from clearhead.biology.task import SCORES
from clearhead.data.sequences import Record
from clearhead.errors import counted, listed
from clearhead.evaluation.labelled import class_scores, fit_temperature, probabilities, reliability
from clearhead.explain.plots.biology import draw_reliability
from clearhead.files import atomic_write
from clearhead.training.run_directory import RunDirectory
from clearhead.training.tasks.labelled_examples import load_examples

log = logging.getLogger("clearhead.train")


def refit_linear_part(runs: list[Path], recipe: BiologyRecipe) -> None:
    """Fit the ridge regression of numbers again, on the held-out records as well.

    Nothing was chosen by them for it, and where there are few records each one counts. Validation
    records that the user gave are never learned from.
    """
    for run in runs:
        examples, loaded = load_examples(RunDirectory(run), Record), load_model(run)
        model, records = loaded.models[0], [*examples.train, *examples.dev]
        if isinstance(model.linear, PositionWeights) and is_split_off(recipe.data, examples.dev):
            records = both_strands(records) if model.config.strands else records
            coded, longest = loaded.vocabulary, loaded.config.longest
            rows = [coded.fitted(coded.encode(record.sequence), longest) for record in records]
            ids = torch.tensor(rows)
            values = standardized(np.array(numbers_of(records)), model.config.scale)
            model.linear.fit(model.read(ids).numpy(), torch.from_numpy(values))
            resave(model, loaded.vocabulary, run / "best")


def calibrate(runs: list[Path], recipe: BiologyRecipe, best: Path) -> None:
    """Fit one temperature on what each run did not learn from; save it beside the model.

    A model of numbers has no probabilities: nothing is written.
    """
    sides = [held_out_scores(run, recipe) for run in runs]
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
        "%s: accuracy %.3f; calibrated with temperature %.2f, calibration error %.3f (before "
        "%.3f); optimistic, since the model was chosen by these labels",
        counted(len(truth), "held-out label"), accuracy, temperature, after, before,
    )  # fmt: skip
    classes = load_model(runs[0]).config.labels
    for run, (scores, labels) in zip(runs, sides, strict=True):
        _restate(run / "best" / "README.md", class_scores(classes, labels, scores))
    if unseen := [name for number, name in enumerate(classes) if number not in truth]:
        log.warning("not among the held-out labels, so never validated: %s", listed(unseen))


def _restate(card: Path, scores: dict[str, float]) -> None:
    """Give the finished model's scores; training wrote those without the simpler model."""
    said = ", ".join(f"{SCORES[name].label} {value:.4f}" for name, value in scores.items())
    text = card.read_text(encoding="utf-8")
    atomic_write(card, re.sub(r"(?m)^(- Validation on .*\)): .*", rf"\1: {said}", text))


def held_out_scores(run: Path, recipe: BiologyRecipe) -> tuple[NDArray[Any], NDArray[Any]]:
    """A run's scores of the labels that it did not learn from, and the labels.

    Shape: -> (labels, outputs), (labels,)
    """
    examples, loaded = load_examples(RunDirectory(run), Record), load_model(run)
    vocabulary, longest = loaded.vocabulary, loaded.config.longest
    encode = Encoder(vocabulary, examples.labels, recipe.data.answer, longest)
    return counted_scores(loaded.models[0], encode(examples.dev))
