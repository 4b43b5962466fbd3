"""A simpler model whose scores are added to those of a trained Transformer."""

import dataclasses
import logging
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from clearhead.biology.answering import scores_of
from clearhead.biology.examples import Encoder, both_strands, is_split_off
from clearhead.biology.linear_part import RankWeights
from clearhead.biology.model import Linear, SequenceModel, load_model, resave
from clearhead.biology.recipe import BiologyRecipe
from clearhead.biology.similarity import MOST, WINDOWS, SimilarityScores
from clearhead.biology.vocabulary import Vocabulary
from clearhead.data.ordering import Permutation
from clearhead.data.sequences import Record
from clearhead.evaluation.labelled import fit_temperature
from clearhead.training.run_directory import RunDirectory
from clearhead.training.tasks.labelled_examples import load_examples

log = logging.getLogger("clearhead.train")
PARTS = ("similarity", "ranks")
MOST_PAIRED = 64  # tokens of a vocabulary whose pairs are counted; k-mers have too many
WEIGHTS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)


class Labelled(NamedTuple):
    """Sequences as ids, and the class of each."""

    ids: list[list[int]]
    classes: Tensor


class Trained(NamedTuple):
    """A finished run: its Transformer alone, and what it was trained and validated on."""

    root: Path
    model: SequenceModel
    vocabulary: Vocabulary
    train: Labelled
    dev: Labelled
    windows: tuple[int, ...]  # of the similarity of aligned sequences: to choose from, or chosen
    split_off: bool  # dev was held out of the training data, not given by the user

    def save(self, model: SequenceModel) -> None:
        """As the run's model."""
        resave(model, self.vocabulary, self.root / "best")


def add_part(runs: list[Path], recipe: BiologyRecipe) -> float:
    """Fit the part of `model.linear` to each run's training data and save it there.

    Its weight in the sum is the one with the lowest cross-entropy on what the runs did not learn
    from. Returns the weight; 0 where there is no such part.
    """
    if recipe.model.linear not in PARTS or recipe.data.answer != "classes":
        return 0.0
    sides = [trained(run, recipe) for run in runs]
    config = sides[0].model.config
    many = config.encoder.vocab_size > MOST_PAIRED or recipe.model.layout == "aligned"
    if recipe.model.linear == "similarity" and not config.length and many:
        log.warning(
            "model.linear=similarity is left out: it does not compare k-mers or learned tokens of "
            "several lengths, nor aligned sequences with an encoder of another project"
        )
        return 0.0
    models = [with_part(side, side.train, recipe) for side in sides]
    weight = best_weight(sides, models, recipe.optimizer.balanced)
    if len(runs) > 1:  # chosen for one Transformer; the mean of several is better than one
        weight /= 2
    log.info(
        "model.linear=%s: its scores are added with weight %g, chosen on held-out records",
        recipe.model.linear, weight,
    )  # fmt: skip
    _save(sides, models, weight)
    return weight


def refit_part(runs: list[Path], recipe: BiologyRecipe, weight: float) -> None:
    """Fit the part again with the held-out records, which have served their purpose.

    Validation records that the user gave are never learned from.
    """
    sides = [trained(run, recipe) for run in runs] if weight else []
    if not sides or not sides[0].split_off:
        return
    log.info("model.linear=%s is fitted again, with the held-out records", recipe.model.linear)
    every = (
        Labelled(side.train.ids + side.dev.ids, torch.cat([side.train.classes, side.dev.classes]))
        for side in sides
    )
    models = [with_part(side, data, recipe) for side, data in zip(sides, every, strict=True)]
    _save(sides, models, weight)


def _save(sides: list[Trained], models: list[SequenceModel], weight: float) -> None:
    for side, model in zip(sides, models, strict=True):
        part: Any = model.linear
        with torch.no_grad():
            part.weight.mul_(weight)
            part.bias.mul_(weight)
        side.save(model if weight else side.model)


def with_part(side: Trained, data: Labelled, recipe: BiologyRecipe) -> SequenceModel:
    """The Transformer with a part that is fitted to `data`."""
    kind = recipe.model.linear
    if kind == "similarity" and len(data.ids) > MOST:
        chosen = Permutation(len(data.ids), 1)(np.arange(MOST)).tolist()
        data = Labelled([data.ids[i] for i in chosen], data.classes[chosen])
    sizes = (len(data.ids), sum(map(len, data.ids))) if kind == "similarity" else ()
    model = _copy(side.model, kind, sizes)
    if isinstance(model.linear, SimilarityScores):
        model.linear.fit(data.ids, data.classes, side.windows)
    elif isinstance(model.linear, RankWeights):
        model.linear.fit(data.ids, data.classes, recipe.optimizer.balanced)
    return model


def _copy(model: SequenceModel, linear: Linear, sizes: tuple[int, ...]) -> SequenceModel:
    """The same encoder and head, beside another part."""
    made = SequenceModel(dataclasses.replace(model.config, linear=linear, compared=sizes))
    kept = {name: t for name, t in model.state_dict().items() if not name.startswith("linear.")}
    made.load_state_dict(kept, strict=False)
    return made.eval()


def best_weight(sides: list[Trained], models: list[SequenceModel], balanced: bool) -> float:
    """Of the part beside the Transformer, by the held-out records of all runs."""
    pairs = list(zip(sides, models, strict=True))
    alone = np.stack([row for side, _ in pairs for row in scores_of(side.model, side.dev.ids)])
    both = np.stack([row for side, model in pairs for row in scores_of(model, side.dev.ids)])
    truth = np.concatenate([side.dev.classes.numpy() for side in sides])
    counts = torch.from_numpy(np.bincount(truth, minlength=alone.shape[1])).clamp(min=1)
    of_class = 1 / counts.double() if balanced else None

    def loss(weight: float) -> float:
        scores = alone + weight * (both - alone)
        logits = torch.from_numpy(scores / fit_temperature(scores, truth))
        return float(F.cross_entropy(logits, torch.from_numpy(truth), of_class))

    return min(WEIGHTS, key=loss)


def trained(run: Path, recipe: BiologyRecipe) -> Trained:
    """Of a run that is finished, whether or not a part was added before."""
    examples, loaded = load_examples(RunDirectory(run), Record), load_model(run)
    before, model = loaded.models[0].linear, _copy(loaded.models[0], "", ())
    config = model.config
    windows = WINDOWS if config.length else (0,)
    if isinstance(before, SimilarityScores):
        windows = (int(before.window),)
    encode = Encoder(loaded.vocabulary, examples.labels, recipe.data.answer, config.longest)

    def labelled(records: list[Record]) -> Labelled:
        found = encode(records)
        classes = torch.tensor([example.targets[0] for example in found])
        return Labelled([list(example.ids) for example in found], classes)

    train = both_strands(examples.train) if config.strands else examples.train
    dev = labelled(examples.dev)
    own = is_split_off(recipe.data, examples.dev)
    return Trained(run, model, loaded.vocabulary, labelled(train), dev, windows, own)
