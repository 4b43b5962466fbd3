"""A directory is judged on a file as its run judged it."""

import json
from pathlib import Path

import pytest

from clearhead.errors import UserError
from clearhead.evaluation.labelled import judge_labelled
from clearhead.training.session import start
from clearhead.training.tuning_recipe import TextData
from tests.training.tiny_tuning import bert, tuning_recipe, write_texts, write_words


@pytest.mark.parametrize("task", ["classification", "tagging"])
def test_a_file_gives_what_the_run_saw_on_it(task: str, tmp_path: Path) -> None:
    texts = task == "classification"
    dev = (write_texts if texts else write_words)(
        tmp_path / ("dev.tsv" if texts else "dev.conll"), 20, seed=9
    )
    sections = {"data": {"dev": str(dev)}, "run": {"steps": 4, "samples": 0}}
    session = start(tuning_recipe(tmp_path, task, **sections), tmp_path / "run")
    session.train()
    verdict = judge_labelled(tmp_path / "run" / "last", str(dev))
    seen = session.progress.dev
    assert verdict.loss == pytest.approx(seen["loss"], rel=1e-4)
    assert verdict.confusion.accuracy == seen["accuracy"] and verdict.span_f1 is None
    values = json.loads(verdict.as_json())
    assert values["macro_f1"] == seen["macro_f1"]
    assert sum(row["examples"] for row in values["by_label"]) == values["examples"]


def test_what_is_no_classifier_and_labels_that_it_does_not_know_are_refused(
    tmp_path: Path,
) -> None:
    file = write_texts(tmp_path / "t.tsv", 9)
    with pytest.raises(UserError, match="has no classifier; fine-tune it first"):
        judge_labelled(bert(tmp_path / "model"), str(file))
    run = {"steps": 1, "eval_every": 1, "samples": 0}
    start(tuning_recipe(tmp_path, run=run), tmp_path / "run").train()
    with pytest.raises(UserError, match=r"line 2: the label .* never occurs .* good, other"):
        judge_labelled(tmp_path / "run" / "last", str(file), TextData(label="last"))
