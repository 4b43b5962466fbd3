"""The Transformer and its baselines on the same folds, in one table."""

import csv
import logging
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clearhead.biology import training
from clearhead.biology.examples import (
    check_labels,
    classes_of,
    fold_column,
    hold_out,
    kind_of_answer,
    labels_of,
    numbers_of,
)
from clearhead.biology.predicting import Predictor
from clearhead.compare.sequence_baselines import Baseline, baselines, features_for
from clearhead.data.folds import clusters, duplicates, grouped, stratified
from clearhead.data.sequences import Record
from clearhead.errors import UserError
from clearhead.evaluation.labelled import class_scores, spearman
from clearhead.files import atomic_save

log = logging.getLogger("clearhead.train")
Floats = NDArray[np.float64]
Scores = dict[str, float]
Answer = Callable[[list[Record], list[Record], Path], Floats]


class Plan(NamedTuple):
    """How records are divided, and how often everything is repeated."""

    folds: int = 5
    seeds: int = 1
    similarity: float = 0.0  # 0: similar sequences may be in different folds
    only: tuple[str, ...] = ()  # names of the models to run; none means all


class Line(NamedTuple):
    """One model's scores: mean and standard deviation over folds and seeds."""

    model: str
    scores: dict[str, tuple[float, float]]


def benchmark(
    records: list[Record], values: dict[str, Any], plan: Plan, directory: Path
) -> list[Line]:
    """Train and test every model on every fold; `values` are of the Transformer's recipe.

    Raises:
        UserError: fewer records than folds, no model of a name, a recipe that is none, or the
            directory has the runs of an earlier benchmark.
    """
    given = training.built(values).data.answer
    answer = kind_of_answer(records) if given == "auto" else given
    records = check_labels(records, answer)
    labels = [] if answer == "number" else classes_of(records, answer)
    folds = divide(records, answer, plan)
    if len({len(record.sequence) for record in records}) > 1:
        # A fold that has one length by chance would not read the others.
        values = values | {"model": {"layout": "free"} | values.get("model", {})}
    if labels:
        _refuse_one_class(records, answer, folds)
    shared = duplicates(records, folds)
    log.info(
        "%d records in %d folds; %d have the same sequence as a record of another fold%s",
        len(records), folds.max() + 1, shared,
        ": scores are inflated; --similarity 1 keeps them together" if shared else "",
    )  # fmt: skip
    models = competitors(baselines(answer, records), Truth(answer, labels), values, plan.seeds)
    if unknown := [name for name in plan.only if name not in models]:
        raise UserError(f"there is no model {unknown[0]!r}; expected {', '.join(models)}")
    chosen = {name: models[name] for name in models if not plan.only or name in plan.only}
    if used := [path for name in chosen if (path := directory / _slug(name)).exists()]:
        raise UserError(
            f"{used[0]} holds an earlier benchmark; choose another --run-dir, or delete it"
        )
    return [
        _line(name, answers, (records, folds), Truth(answer, labels), directory)
        for name, answers in chosen.items()
    ]


def _slug(name: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in name.lower())


def divide(records: Sequence[Record], answer: str, plan: Plan) -> NDArray[np.int64]:
    """A fold for each record: by similarity, by the file's column, or by label."""
    if plan.similarity:
        groups = clusters([record.sequence for record in records], plan.similarity)
        log.info("%d clusters of similar sequences", groups.max() + 1)
        return grouped(groups, plan.folds, 1)
    given = fold_column(records)
    if given is not None and len(set(given.tolist())) > 1:
        return given
    by_label = answer == "classes"
    return stratified([(r.label or "") * by_label for r in records], plan.folds, 1)


def competitors(
    classical: Sequence[Baseline], truth: "Truth", values: dict[str, Any], seeds: int
) -> dict[str, list[Answer]]:
    """Every model of the table by its name; those with a seed once for each seed."""
    found = {baseline.name: [_classical(baseline, truth)] for baseline in classical}
    variants = {
        "small CNN": {"kind": "convolution", "path": "", "linear": ""},
        "Transformer, from scratch": {"path": ""},
    }
    if values.get("model", {}).get("path"):
        variants["Transformer, pre-trained"] = {}
    for name, keys in variants.items():
        one = _with(values, "model", keys)
        seeded = (_with(one, "run", {"seed": 100 * n + 1}) for n in range(seeds))
        found[name] = [_learned(each, truth) for each in seeded]
    return found


def _with(values: dict[str, Any], section: str, keys: dict[str, Any]) -> dict[str, Any]:
    return values | {section: values.get(section, {}) | keys}


def _refuse_one_class(records: Sequence[Record], answer: str, folds: Any) -> None:
    for fold in range(int(folds.max()) + 1):
        others = (record for record, own in zip(records, folds, strict=True) if own != fold)
        if len({label for record in others for label in labels_of(record, answer)}) < 2:
            raise UserError(
                f"without fold {fold} one class is left to learn from; give other folds "
                "(--split-column), a higher --similarity, or more records of the rare classes"
            )


class Truth(NamedTuple):
    """What is to be predicted."""

    answer: str
    labels: list[str]  # none for numbers

    def of(self, records: Sequence[Record]) -> NDArray[Any]:
        """Numbers, classes, or the classes of all positions that count, in a row."""
        if not self.labels:
            return np.array(numbers_of(records))
        order = {label: number for number, label in enumerate(self.labels)}
        return np.array([order[label] for r in records for label in labels_of(r, self.answer)])


def _classical(baseline: Baseline, truth: Truth) -> Answer:
    def answer(train: list[Record], test: list[Record], directory: Path) -> Floats:
        from sklearn.base import clone

        aligned = len({len(record.sequence) for record in (*train, *test)}) == 1
        read = features_for(train, truth.answer, aligned)[baseline.features]
        parts = hold_out(train, 0.1, 1, by_label=truth.answer == "classes")
        fit, held = ((read(part), truth.of(part)) for part in parts)
        settings = [clone(model) for model in baseline.settings]
        counts = [np.bincount(truth.of(part)) for part in (parts[0], train) if truth.labels]
        for model in settings if any(1 in count for count in counts) else ():
            if "early_stopping" in model.get_params():  # it would hold out a part of each class
                model.set_params(early_stopping=False)
        best = max(settings, key=lambda model: model.fit(*fit).score(*held))
        model, asked = best.fit(read(train), truth.of(train)), read(test)
        if not truth.labels:
            return np.asarray(model.predict(asked))[:, None]
        chances = np.zeros((asked.shape[0], len(truth.labels)))
        chances[:, model.classes_] = model.predict_proba(asked)
        return chances

    return answer


def _learned(values: dict[str, Any], truth: Truth) -> Answer:
    def answer(train: list[Record], test: list[Record], directory: Path) -> Floats:
        table = directory / "train.csv"
        write_table(train, table)
        named = {"train": str(table), "sequence": "sequence", "label": "label", "split": ""}
        recipe = training.resolve(_with(values, "data", named | {"answer": truth.answer}))
        best = training.start(recipe, directory / "run")
        predictor = Predictor.from_pretrained(best, recipe.data.domain)
        every = list(predictor.predict(test))
        if not truth.labels:
            return np.array([[float(found.label)] for found in every])
        if truth.answer == "positions":
            pairs = zip(every, test, strict=True)
            own = np.concatenate([found.chances[record.counted] for found, record in pairs])
        else:
            own = np.array([found.chances for found in every])
        # A class that the other folds do not have is never predicted.
        chances = np.zeros((len(own), len(truth.labels)))
        chances[:, [truth.labels.index(label) for label in predictor.config.labels]] = own
        return chances

    return answer


def write_table(records: Sequence[Record], path: Path) -> None:
    """A table of names, sequences, labels and masks."""

    def write(temporary: Path) -> None:
        with temporary.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["id", "sequence", "label", "mask"])
            for r in records:
                writer.writerow([r.name, r.sequence, r.label, r.mask or "1" * len(r.sequence)])

    atomic_save(path, write)


def _line(
    name: str, answers: list[Answer], divided: tuple[list[Record], Any], truth: Truth, root: Path,
) -> Line:  # fmt: skip
    every: list[Scores] = []
    records, folds = divided
    for fold, (seed, answer) in product(range(int(folds.max()) + 1), enumerate(answers)):
        train = [record for record, number in zip(records, folds, strict=True) if number != fold]
        test = [record for record, number in zip(records, folds, strict=True) if number == fold]
        found = answer(train, test, root / _slug(name) / f"fold-{fold}-{seed}")
        scores = _scores(truth.of(test), found, truth.labels)
        listed = ", ".join(f"{key} {value:.4f}" for key, value in scores.items())
        log.info("%s, fold %d: %s", name, fold, listed)
        every.append(scores)
    keys = [key for key in every[0] if all(key in scores for scores in every)]
    columns = {key: [scores[key] for scores in every] for key in keys}
    return Line(name, {k: (float(np.mean(v)), float(np.std(v))) for k, v in columns.items()})


def _scores(truth: NDArray[Any], found: Floats, labels: list[str]) -> Scores:
    if not labels:
        return {"spearman": spearman(truth, found[:, 0])}
    from sklearn.metrics import roc_auc_score

    scores = class_scores(labels, truth, found)
    if len(set(truth.tolist())) == len(labels):
        chances = found[:, 1] if len(labels) == 2 else found / found.sum(axis=1, keepdims=True)
        scores["auroc"] = float(roc_auc_score(truth, chances, multi_class="ovr"))
    return scores


def table_of(lines: Sequence[Line]) -> Iterator[str]:
    """A line a model, the scores as mean ± standard deviation; the best are marked."""
    keys = list(lines[0].scores)
    yield "model\t" + "\t".join(keys)
    best = {key: max(round(line.scores[key][0], 4) for line in lines) for key in keys}
    for line in lines:
        cells = [
            f"{mean:.4f} ± {deviation:.4f}{' *' if round(mean, 4) == best[key] else ''}"
            for key, (mean, deviation) in line.scores.items()
        ]
        yield "\t".join([line.model, *cells])
