"""A run that was killed ends, bit by bit, like one that was not."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from clearhead.errors import UserError
from clearhead.files import CHECKSUMS
from clearhead.models.weights import read_tensors
from clearhead.training import session as module
from clearhead.training.checkpoint import FILE
from clearhead.training.metrics import read_metrics
from clearhead.training.recipe import RENAMED_KEYS, Recipe
from clearhead.training.session import Session, resume, start
from tests.training.tiny import Killed, assert_same_state, kill_after, state_of, tiny_recipe
from tests.training.tiny_finetuning import finetuning_recipe

RECIPES: dict[str, dict[str, Any]] = {
    "plain": {},
    "muon": {"optimizer": "muon"},
    "muon in bfloat16": {"optimizer": "muon", "precision": "bf16"},
    "bfloat16": {"precision": "bf16"},
    "accumulated": {"accumulate": 2},
    "validated by loss": {"metric": "loss"},
    "gradient checkpointing": {"gradient_checkpointing": True},
    "consistent": {"r_drop": 5.0},
}
# What a clock or a scale measured differs from run to run.
CLOCKED = {"seconds", "tokens_per_second", "peak_memory_gb"}


def finish(session: Session) -> dict[str, torch.Tensor]:
    session.train()
    return state_of(session)


def records(root: Path) -> list[dict[str, object]]:
    return [
        {key: value for key, value in record.items() if key not in CLOCKED}
        for record in read_metrics(root / "metrics.jsonl")
    ]


def same_files(one: Path, other: Path) -> None:
    names = ["best/model.safetensors", "last/model.safetensors"]
    names += [f"snapshots/{path.name}" for path in (one / "snapshots").iterdir()]
    assert sorted(p.name for p in (one / "snapshots").iterdir()) == sorted(
        p.name for p in (other / "snapshots").iterdir()
    )
    for name in names:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


@pytest.mark.parametrize("settings", RECIPES.values(), ids=RECIPES)
def test_killed_anywhere_and_resumed_is_never_stopped(
    settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = tiny_recipe(tmp_path, **settings)
    expected = finish(start(recipe, tmp_path / "whole"))
    session = start(recipe, tmp_path / "killed")
    for step in (2, 5, 6, 8, 11):  # before the first checkpoint, between two, upon one
        kill_after(monkeypatch, session, step)
        with pytest.raises(Killed):
            session.train()
        torch.manual_seed(step)  # another process has other random states
        session = resume(tmp_path / "killed")
    assert_same_state(finish(session), expected)
    assert records(tmp_path / "killed") == records(tmp_path / "whole")
    same_files(tmp_path / "killed", tmp_path / "whole")


def test_the_order_of_the_data_is_taken_up_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = tiny_recipe(tmp_path)
    whole = start(recipe, tmp_path / "whole")
    expected = [next(whole.trainer.batches).indices.tolist() for _ in range(9)][6:]
    session = start(recipe, tmp_path / "killed")
    kill_after(monkeypatch, session, 8)  # the last checkpoint is of step 6
    with pytest.raises(Killed):
        session.train()
    batches = resume(tmp_path / "killed").trainer.batches
    assert [next(batches).indices.tolist() for _ in range(3)] == expected


def test_a_run_directory_may_move_without_its_corpora(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = tiny_recipe(tmp_path / "old")
    expected = finish(start(recipe, tmp_path / "whole"))
    session = start(recipe, tmp_path / "old" / "run")
    kill_after(monkeypatch, session, 7)
    with pytest.raises(Killed):
        session.train()
    (tmp_path / "old" / "run").rename(tmp_path / "new place")
    shutil.rmtree(tmp_path / "old")
    assert_same_state(finish(resume(tmp_path / "new place")), expected)


def test_a_run_of_an_earlier_version_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = tiny_recipe(tmp_path)
    expected = finish(start(recipe, tmp_path / "whole"))
    session = start(recipe, tmp_path / "old")
    kill_after(monkeypatch, session, 7)
    with pytest.raises(Killed):
        session.train()
    config, origin = session.run.config, session.run.origin
    text = config.read_text("utf-8").replace("task: translation\n", "")
    record = json.loads(origin.read_text(encoding="utf-8"))
    assert record.pop("task") == "translation"
    for old, new in RENAMED_KEYS.items():
        text = text.replace(f"  {new.split('.')[1]}:", f"  {old.split('.')[1]}:")
        record = {old if key == new else key: value for key, value in record.items()}
    assert "made_up:" in text and "recompute:" in text and "data.made_up" in record
    config.write_text(text, "utf-8")
    origin.write_text(json.dumps(record), encoding="utf-8")
    origin.with_name(CHECKSUMS).unlink()
    assert_same_state(finish(resume(tmp_path / "old")), expected)


def test_a_finished_run_stays_as_it_is(session: Session, tmp_path: Path) -> None:
    session.train()
    before = {p: p.read_bytes() for p in sorted((tmp_path / "run").rglob("*")) if p.is_file()}
    resume(tmp_path / "run").train()
    after = {p: p.read_bytes() for p in sorted((tmp_path / "run").rglob("*")) if p.is_file()}
    assert before == after


def test_a_finished_run_says_so(
    session: Session, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    session.train()
    with caplog.at_level("INFO", "clearhead.train"):
        resume(tmp_path / "run").train()
    assert "this run is finished" in caplog.text


def test_killed_before_the_average_averages(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Session, "_finish", lambda self: (_ for _ in ()).throw(Killed()))
    with pytest.raises(Killed):
        session.train()
    monkeypatch.undo()
    monkeypatch.setattr(module.Reporter, "_scores", lambda self, kind, result: kind)
    again = resume(tmp_path / "run")
    again.train()
    assert again.progress.step == again.progress.averaged_at == 12


def changed(recipe: Recipe, section: str, **values: object) -> Recipe:
    part = getattr(recipe, section).model_copy(update=values)
    return recipe.model_copy(update={section: part})


def test_more_steps_may_be_asked_for(session: Session, tmp_path: Path) -> None:
    session.train()
    more = resume(tmp_path / "run", changed(session.recipe, "run", steps=15))
    more.train()
    assert more.progress.step == 15
    assert resume(tmp_path / "run").recipe.run.steps == 15  # and it is remembered


@pytest.mark.parametrize(
    ("section", "change"),
    [
        ("data", {"train": "another.tsv"}),
        ("data", {"dev": "another.tsv"}),
        ("data", {"max_length": 5}),
        ("data", {"french_spaces": False}),
        ("vocabulary", {"size": 400}),
        ("model", {"d_model": 32}),
        ("model", {"h": 4}),
        ("model", {"norm": "post"}),
        ("run", {"dev_sentences": 3}),
        ("run", {"seed": 2}),
        ("run", {"batch_tokens": 300}),
        ("run", {"window": 50}),
    ],
)
def test_changes_that_make_it_another_run_are_refused_and_harm_nothing(
    section: str, change: dict[str, object], session: Session, tmp_path: Path
) -> None:
    session.trainer.step()
    session.checkpoints.save_last()
    before = {p: p.read_bytes() for p in (tmp_path / "run").rglob("*") if p.is_file()}
    with pytest.raises(UserError, match=r" was .* and is .* now; resume with"):
        resume(tmp_path / "run", changed(session.recipe, section, **change))
    assert before == {p: p.read_bytes() for p in (tmp_path / "run").rglob("*") if p.is_file()}


def test_dropout_and_learning_rate_may_change(session: Session, tmp_path: Path) -> None:
    session.trainer.step()
    session.checkpoints.save_last()
    rates = {"dropout": 0.0, "attention_dropout": 0.1, "activation_dropout": 0.2}
    recipe = changed(session.recipe, "model", **rates)
    again = resume(tmp_path / "run", changed(recipe, "optimizer", peak_lr=1e-4))
    assert rates.items() <= vars(again.trainer.model.config).items()
    again.train()


def test_dropout_may_change_in_a_run_that_began_with_a_model(
    session: Session, tmp_path: Path
) -> None:
    session.trainer.step()
    session.checkpoints.save_last()
    translation = changed(session.recipe, "model", path=str(tmp_path / "run"), dropout=0.1)
    for recipe in (translation, finetuning_recipe(tmp_path / "texts", model={"dropout": 0.1})):
        first = start(recipe, tmp_path / recipe.task)
        first.trainer.step()
        first.checkpoints.save_last()
        again = resume(tmp_path / recipe.task, changed(recipe, "model", dropout=0.5))
        assert again.trainer.model.config.dropout == 0.5
        assert_same_state(state_of(again), state_of(first))


def test_a_resumption_reads_as_the_same_weights(session: Session, tmp_path: Path) -> None:
    session.trainer.step()
    session.checkpoints.save_last()
    assert (tmp_path / "run" / "last" / FILE).exists()
    saved = read_tensors(tmp_path / "run" / "last" / "model.safetensors")
    again = resume(tmp_path / "run").trainer.model
    for name, parameter in again.named_parameters():
        assert torch.equal(parameter, saved[name])
