"""From a file of labelled sequences to a calibrated model directory."""

import copy
import logging
import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clearhead.biology.added_part import add_part, refit_part
from clearhead.biology.calibration import calibrate, refit_linear_part
from clearhead.biology.domains import DOMAINS, FINE_TUNING, length_of
from clearhead.biology.examples import Parts, read_parts
from clearhead.biology.model import Domain, Loaded, load_for
from clearhead.biology.pretraining import MaskedSequences
from clearhead.biology.recipe import Answer, BiologyRecipe, BiologyRun, PretrainingRecipe
from clearhead.biology.task import LabelledSequences
from clearhead.errors import UserError, shell_command
from clearhead.files import atomic_write, record_checksums
from clearhead.training import console, session
from clearhead.training.recipe_file import build_recipe, dump_recipe, load_recipe
from clearhead.training.run_directory import RunDirectory
from clearhead.training.run_lock import RunLock
from clearhead.training.tasks import register

log = logging.getLogger("clearhead.train")
Values = dict[str, Any]
LINEAR = "positions: aligned, numbers; similarity: sequences, classes; ranks: cells, classes"
NO_LINEAR: Values = {"model": {"linear": ""}}

register("biology", BiologyRecipe, LabelledSequences)
register("biology-masked", PretrainingRecipe, MaskedSequences)


def resolve(values: Values) -> BiologyRecipe | PretrainingRecipe:
    """The whole recipe: what the user gives, on top of what suits the data.

    Raises:
        UserError: as the readers, or a key that is unknown.
    """
    if values.get("task") == "biology-masked":
        return _of_pretraining(values)
    given = built(values)
    parts = read_parts(given.data, given.run.seed)
    for name in sorted({"NA", "None", "null"}.intersection(parts.labels)):
        log.warning("%s is learned as a class; if it means no label, remove these records", name)
    learned = {record.content for record in parts.train}
    if shared := sum(record.content in learned for record in parts.dev):
        log.warning(
            "%d of %d validation records have the same sequence as a training record: scores are "
            "inflated", shared, len(parts.dev),
        )  # fmt: skip
    domain, path = given.data.domain, given.model.path
    old = load_for(path, domain) if path else None
    aligned = is_aligned(given, parts, old)
    suited = suited_to(domain, parts.answer, aligned)
    if old:
        suited = _merged(suited, FINE_TUNING)
    decided = {
        "data": {"answer": parts.answer},
        "model": {"layout": "aligned" if aligned else "free"},
    }
    merged = _merged(_merged(suited, values), decided)
    return _checked(with_steps(built(merged), parts), parts, old)


def suited_to(domain: Domain, answer: Answer, aligned: bool) -> Values:
    """What a recipe begins with for such data."""
    usual, form = DOMAINS[domain].defaults, "aligned" if aligned else "free"
    if answer == "number":
        # Only aligned sequences have positions for a linear model; the other ones are of classes.
        own = usual.get("number", {}) if aligned else _merged(usual["free"], NO_LINEAR)
        return _merged(own, {"run": {"metric": "loss"}})
    return _merged({"run": {"metric": "matthews"}}, usual.get(answer) or usual.get(form) or {})


def _checked(recipe: BiologyRecipe, parts: Parts, old: Loaded | None) -> BiologyRecipe:
    """A recipe whose parts fit each other and the data.

    Raises:
        UserError: a metric of classes for numbers or the other way round, a second strand of what
            is not DNA, a linear model that does not fit the data, or sequences that do not fit the
            model that is fine-tuned.
    """
    metric, numbers = recipe.run.metric, recipe.data.answer == "number"
    if metric != "loss" and numbers != (metric == "spearman"):
        wanted = "spearman or loss" if numbers else "matthews, accuracy, macro_f1 or loss"
        raise UserError(f"run.metric={metric} is not for these labels; give {wanted}")
    if recipe.augment.both_strands and recipe.data.domain != "dna":
        raise UserError("augment.both_strands=true is for DNA alone; leave it out")
    cells, classes = recipe.data.domain == "cells", recipe.data.answer == "classes"
    aligned, linear = recipe.model.layout == "aligned", recipe.model.linear
    fits = {"positions": numbers and aligned, "similarity": classes and not cells}
    if not (fits | {"ranks": classes and cells, "": True})[linear]:
        raise UserError(f"model.linear={linear} does not fit these data; leave it out ({LINEAR})")
    if old and (length := old.config.length):
        first = old.vocabulary.encode(parts.train[0].sequence)
        if not aligned or len(first) != length:
            tokens = length - sum(old.vocabulary.edges)
            raise UserError(
                f"{recipe.model.path} takes aligned sequences of exactly {tokens:,} tokens; give "
                "such sequences, or another --model"
            )
    return recipe


def is_aligned(given: BiologyRecipe, parts: Parts, old: Loaded | None) -> bool:
    """Whether position t means the same in every sequence: all have the same length.

    Raises:
        UserError: they have not, although the recipe says so.
    """
    kind = old.vocabulary.cut.kind if old else given.tokens.kind
    lengths = {len(record.sequence) for record in (*parts.train, *parts.dev)}
    alike = given.data.domain != "cells" and kind != "bpe" and len(lengths) == 1
    layout = given.model.layout
    if layout == "aligned" and not alike:
        raise UserError(
            "model.layout=aligned needs sequences of one length, cut into letters or k-mers; give "
            "model.layout=free"
        )
    return alike and (layout == "aligned" or (layout == "auto" and parts.answer != "positions"))


def _of_pretraining(values: Values) -> PretrainingRecipe:
    recipe = build_recipe(values, "the recipe")
    assert isinstance(recipe, PretrainingRecipe)
    return recipe.model_copy(update={"run": _with_evaluations(recipe.run, recipe.run.steps)})


def with_steps(recipe: BiologyRecipe, parts: Parts) -> BiologyRecipe:
    """The recipe with run.epochs turned into steps, and ten evaluations in the run."""
    r = recipe.run
    copies = 2 if recipe.augment.both_strands else 1
    domain, longest = recipe.data.domain, recipe.model.max_length
    tokens = copies * sum(min(length_of(p, domain), longest) for p in parts.train)
    batches = max(copies * len(parts.train) / r.batch_texts, 1.05 * tokens / r.batch_tokens)
    steps = r.steps or max(r.min_steps, math.ceil(r.epochs * batches))
    return recipe.model_copy(update={"run": _with_evaluations(r, steps)})


def _with_evaluations(run: BiologyRun, steps: int) -> BiologyRun:
    every = run.eval_every or max(1, steps // 10)
    save = run.save_every or every
    return run.model_copy(update={"steps": steps, "eval_every": every, "save_every": save})


def built(values: Values) -> BiologyRecipe:
    """The recipe as it is given, with what suits no data in particular.

    Raises:
        UserError: a key that is unknown, or a value that does not fit it.
    """
    recipe = build_recipe(values | {"task": "biology"}, "the recipe")
    assert isinstance(recipe, BiologyRecipe)
    return recipe


def start(recipe: BiologyRecipe | PretrainingRecipe, root: Path, resume: bool = False) -> Path:
    """A run in an empty directory, or one to go on with; returns the finished model's directory."""
    if isinstance(recipe, BiologyRecipe):
        return train(recipe, root, resume)
    _one(recipe, root, resume)
    return root / "best"


def _merged(below: Values, above: Values) -> Values:
    """Sections of both; a key of `above` counts."""
    found = copy.deepcopy(below)
    for section, keys in above.items():
        found[section] = {**found.get(section, {}), **keys} if isinstance(keys, dict) else keys
    return found


def train(recipe: BiologyRecipe, root: Path, resume: bool = False) -> Path:
    """Train every member and calibrate them; returns the directory of the finished model.

    Each member has its own seed and its own held-out records; all share one vocabulary.
    """
    best = root / "best"
    if recipe.run.members == 1:
        _one(recipe, root, resume)
        _complete([root], recipe, best)
        return best
    if not resume:
        _begin(recipe, root)
    runs = [root / f"run-{number}" for number in range(1, recipe.run.members + 1)]
    for number, run in enumerate(runs):
        seed = recipe.run.model_copy(update={"seed": recipe.run.seed + number})
        member = recipe.model_copy(update={"run": seed})
        log.info("member %d of %d", number + 1, len(runs))
        _one(member, run, (run / "config.yaml").exists() and resume)
    _complete(runs, recipe, best)
    for number, run in enumerate(runs, start=1):
        shutil.copytree(run / "best", best / f"member-{number}", dirs_exist_ok=True)
    # By these, `load_model` notices a missing member.
    record_checksums(best, [f"member-{n}/config.json" for n in range(1, len(runs) + 1)])
    return best


def _complete(runs: list[Path], recipe: BiologyRecipe, best: Path) -> None:
    """Add the simpler model, calibrate the sum; what is refitted then sees all records."""
    refit_linear_part(runs, recipe)
    weight = add_part(runs, recipe)
    calibrate(runs, recipe, best)
    refit_part(runs, recipe, weight)


def _begin(recipe: BiologyRecipe, root: Path) -> None:
    """Write the recipe; only a start that was stopped before it trained may be there already."""
    first = RunDirectory(root / "run-1")
    found = {path.name for path in root.iterdir()} if root.exists() else set[str]()
    stopped = found == {"config.yaml", "run-1"} and first.origin.exists()
    if found and (not stopped or first.last.exists() or first.best.exists()):
        raise UserError(f"{root} is not an empty directory; choose another --run-dir, or --resume")
    if stopped:
        RunLock(first.root).release()  # refuses a run that another process has just started
    atomic_write(root / "config.yaml", dump_recipe(recipe))


def _one(recipe: Any, root: Path, resume: bool) -> None:
    began = session.resume(root, recipe) if resume else session.start(recipe, root)
    with console.kept(began.run.log):
        began.train()


def resume(root: Path, changes: Sequence[str] = ()) -> Path:
    """Go on with a run that was stopped: see `recipe_of`."""
    return start(recipe_of(root, changes), root, resume=True)


def recipe_of(root: Path, changes: Sequence[str] = ()) -> BiologyRecipe | PretrainingRecipe:
    """The recipe of a run, with `changes` as section.key=value.

    Raises:
        UserError: there is no run in that directory, or a change that does not fit.
    """
    config = root / "config.yaml"
    if not config.exists():
        raise UserError(f"{root} holds no run (no config.yaml); start one without --resume")
    recipe = load_recipe(str(config), changes)
    if not isinstance(recipe, BiologyRecipe | PretrainingRecipe):
        command = f"clearhead train --resume --run-dir {shell_command(root)}"
        raise UserError(f"to continue this run: {command}")
    if recipe.run.steps == 0:
        raise UserError("run.steps=0: a run that goes on needs a number of steps; give one")
    return recipe.model_copy(update={"run": _with_evaluations(recipe.run, recipe.run.steps)})
