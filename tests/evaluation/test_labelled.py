"""Evaluating a directory on a file gives the metrics that its run had on it."""

import json
from pathlib import Path

import pytest

from clearhead.errors import UserError
from clearhead.evaluation.labelled import evaluate_labelled
from clearhead.training.finetuning_recipe import TextData
from clearhead.training.session import start
from tests.training.tiny_finetuning import bert, finetuning_recipe, write_texts, write_words


@pytest.mark.parametrize("task", ["classification", "tagging"])
def test_a_file_gives_the_metrics_of_the_run(task: str, tmp_path: Path) -> None:
    texts = task == "classification"
    dev = (write_texts if texts else write_words)(
        tmp_path / ("dev.tsv" if texts else "dev.conll"), 20, seed=9
    )
    sections = {"data": {"dev": str(dev)}, "run": {"steps": 4, "samples": 0}}
    session = start(finetuning_recipe(tmp_path, task, **sections), tmp_path / "run")
    session.train()
    found = evaluate_labelled(tmp_path / "run" / "last", str(dev))
    seen = session.progress.dev
    assert found.loss == pytest.approx(seen["loss"], rel=1e-4)
    assert found.confusion.accuracy == seen["accuracy"] and found.span_f1 is None
    values = json.loads(found.as_json())
    assert values["macro_f1"] == seen["macro_f1"]
    assert sum(row["examples"] for row in values["by_label"]) == values["examples"]


def test_other_models_and_unknown_labels_are_refused(
    tmp_path: Path,
) -> None:
    file = write_texts(tmp_path / "t.tsv", 9)
    with pytest.raises(UserError, match="has no classifier; fine-tune it first"):
        evaluate_labelled(bert(tmp_path / "model"), str(file))
    run = {"steps": 1, "eval_every": 1, "samples": 0}
    start(finetuning_recipe(tmp_path, run=run), tmp_path / "run").train()
    with pytest.raises(UserError, match=r"line 2: the label .* never occurs .* good, other"):
        evaluate_labelled(tmp_path / "run" / "last", str(file), TextData(label="last"))
