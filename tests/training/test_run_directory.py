"""A run directory is never overwritten, and what can be refused is refused before it is made."""

import json
import shutil
from pathlib import Path

import pytest

from clearhead.errors import UserError
from clearhead.training.checkpoint import list_snapshots
from clearhead.training.recipe import Recipe
from clearhead.training.run_directory import RunDirectory
from clearhead.training.session import Session, resume, start
from clearhead.training.tasks.translation import prepare_dev
from tests.training.tiny import tiny_recipe


def changed(recipe: Recipe, section: str, **values: object) -> Recipe:
    part = getattr(recipe, section).model_copy(update=values)
    return recipe.model_copy(update={section: part})


def test_a_directory_with_a_run_is_refused(session: Session, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"already holds a run; continue it with --resume"):
        start(session.recipe, tmp_path / "run")


def test_a_directory_with_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    recipe = tiny_recipe(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(UserError, match="is not an empty directory"):
        start(recipe, tmp_path / "full")
    assert [p.name for p in (tmp_path / "full").iterdir()] == ["thesis.txt"]


def test_a_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is a file, expected a directory"):
        start(tiny_recipe(tmp_path), tmp_path / "train.tsv")


def test_a_directory_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot write .*run: Not a directory"):
        start(tiny_recipe(tmp_path), tmp_path / "train.tsv" / "run")


@pytest.mark.parametrize(
    ("section", "change"),
    [
        ("data", {"train": "missing.tsv"}),
        ("data", {"dev": "missing.tsv"}),
        ("model", {"h": 3}),
        ("model", {"size": "huge"}),
        ("model", {"path": "missing"}),
        ("vocabulary", {"path": "missing"}),
        ("run", {"device": "tpu"}),
    ],
)
def test_bad_input_leaves_no_run_behind(
    section: str, change: dict[str, object], tmp_path: Path
) -> None:
    recipe = tiny_recipe(tmp_path)
    with pytest.raises(UserError) as caught:
        start(changed(recipe, section, **change), tmp_path / "run")
    assert "\n" not in str(caught.value)
    start(recipe, tmp_path / "run")  # the corrected command needs no other directory


def test_a_broken_line_in_the_corpus_can_be_mended_and_the_command_repeated(tmp_path: Path) -> None:
    recipe = tiny_recipe(tmp_path)
    path = Path(recipe.data.train)
    good = path.read_bytes()
    path.write_bytes(good + b"one\tun\n\xff\n")
    with pytest.raises(UserError, match="302"):
        start(recipe, tmp_path / "run")
    path.write_bytes(good)
    start(recipe, tmp_path / "run")


def test_no_run_to_resume_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no run"):
        resume(tmp_path)


def test_a_run_without_a_checkpoint_begins_anew(session: Session, tmp_path: Path) -> None:
    assert resume(tmp_path / "run").progress.step == 0


def test_snapshots_from_beyond_the_checkpoint_are_dropped(session: Session, tmp_path: Path) -> None:
    for step in range(1, 5):
        session.trainer.step()
        session.checkpoints.save_validated(session.task.validate(session.trainer.model, 0))
        if step == 3:
            session.checkpoints.save_last()
    assert resume(tmp_path / "run").progress.step == 3
    assert [int(p.stem) for p in list_snapshots(session.run.snapshots)] == [3]


def test_dev_sentences_are_kept_as_they_are(tmp_path: Path) -> None:
    recipe = tiny_recipe(tmp_path)
    rows = ["a\u2028b\tc « d »", 'e "f"\tg\\h', "one\tun"]
    Path(recipe.data.dev).write_text("\n".join(rows), encoding="utf-8", newline="\n")
    recipe = changed(changed(recipe, "data", french_spaces=False), "run", dev_sentences=2)
    pairs = prepare_dev(recipe, tmp_path / "dev.jsonl")
    assert [tuple(pair) for pair in pairs] == [tuple(row.split("\t")) for row in rows[:2]]
    assert prepare_dev(recipe, tmp_path / "dev.jsonl") == pairs


def test_an_empty_dev_corpus_is_refused(tmp_path: Path) -> None:
    recipe = tiny_recipe(tmp_path)
    Path(recipe.data.dev).write_text("", encoding="utf-8")
    with pytest.raises(UserError, match="no pair"):
        start(recipe, tmp_path / "run")


def test_a_run_in_which_no_pair_fits_can_be_started_again(tmp_path: Path) -> None:
    recipe = tiny_recipe(tmp_path)
    with pytest.raises(UserError, match="no pair is left to train on"):
        start(changed(recipe, "data", max_length=1), tmp_path / "run")
    start(recipe, tmp_path / "run")


def test_everything_in_a_run_directory_is_relative(session: Session, tmp_path: Path) -> None:
    session.train()
    for name in ("best/README.md", "last/README.md", "best/config.json", "metrics.jsonl"):
        assert str(tmp_path) not in (tmp_path / "run" / name).read_text(encoding="utf-8")


def test_a_model_can_be_trained_on(tmp_path: Path) -> None:
    first = start(tiny_recipe(tmp_path), tmp_path / "run")
    first.train()
    recipe = changed(
        first.recipe, "model", path=str(first.run.best), dropout=0.0, attention_dropout=0.1
    )
    second = start(recipe, tmp_path / "more")
    assert second.task.tokenizer.vocab_size == first.task.tokenizer.vocab_size
    config = second.trainer.model.config
    assert (config.dropout, config.attention_dropout, config.activation_dropout) == (0.0, 0.1, None)
    before = first.task.validate(first.trainer.model, 0).loss
    assert second.task.validate(second.trainer.model, 0).loss < 1.2 * before
    second.trainer.step()
    second.checkpoints.save_last()
    first.run.best.rename(tmp_path / "moved away")
    assert resume(tmp_path / "more").progress.step == 1


def test_the_origin_is_readable(session: Session) -> None:
    facts = json.loads(session.run.origin.read_text(encoding="utf-8"))
    assert facts["vocabulary.size"] == 300 and facts["data.max_length"] == 100


def test_what_a_kill_left_of_files_being_written_is_swept_away(
    session: Session, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    (run / "last").mkdir()
    unfinished = [run / ".config.yaml.abcd_123", run / ".tokens.bin.80ab5b64"]
    unfinished += [run / "last" / ".model.safetensors.0a1b2c3d"]
    others = [run / ".gitignore", run / "last" / ".model.safetensors", run / ".notes.md.backup"]
    for path in unfinished + others:
        path.write_text("half", encoding="utf-8")
    resume(run)
    assert not [p for p in unfinished if p.exists()] and all(p.exists() for p in others)


def test_a_kill_before_the_first_file_was_whole_leaves_the_directory_free(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".config.yaml.abcd1234").write_text("hal", encoding="utf-8")
    (tmp_path / "run" / "data").mkdir()
    (tmp_path / "run" / "data" / ".origin.json.abcd1234").write_text("{", encoding="utf-8")
    start(tiny_recipe(tmp_path), tmp_path / "run")


@pytest.mark.parametrize("others", [{}, {"tokenizer.json": "{}", "data/dev.jsonl": "kept"}])
def test_a_recipe_and_files_that_no_run_wrote_are_left_alone(
    others: dict[str, str], tmp_path: Path
) -> None:
    recipe, project = tiny_recipe(tmp_path), tmp_path / "project"
    (project / "data").mkdir(parents=True)
    own = {"config.yaml": "# mine", **others}
    for name, content in own.items():
        (project / name).write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match="is not an empty directory"):
        start(recipe, project)
    assert {name: (project / name).read_text(encoding="utf-8") for name in own} == own


def test_a_corpus_that_changed_before_it_was_copied_is_an_error(tmp_path: Path) -> None:
    recipe, root = tiny_recipe(tmp_path), tmp_path / "run"
    RunDirectory.create(root, recipe).lock.release()
    path = tmp_path / "train.tsv"
    path.write_text("A new pair.\tUne paire.\n" + path.read_text("utf-8"), encoding="utf-8")
    with pytest.raises(UserError, match="has changed since this run began, and the run stopped"):
        resume(root)


def test_the_copies_of_a_trained_run_are_not_made_anew(session: Session, tmp_path: Path) -> None:
    session.train()
    shutil.rmtree(tmp_path / "run" / "data")
    with pytest.raises(UserError, match=r"origin\.json"):
        resume(tmp_path / "run")
