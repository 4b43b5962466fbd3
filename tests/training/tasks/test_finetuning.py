"""Fine-tuning trains the chosen parameters only, and saves the model that was validated."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import transformers

from clearhead.blocks import padding_mask
from clearhead.data.labelled_batches import Example, pad
from clearhead.models.adapting import adapted_parts
from clearhead.pretrained import from_pretrained, load
from clearhead.pretrained.adapter import load_adapter
from clearhead.pretrained.new_heads import label_names
from clearhead.training.session import resume, start
from clearhead.training.tasks.labelled_examples import predict
from tests.training.tiny import Killed, assert_same_state, kill_after, state_of
from tests.training.tiny_finetuning import finetuning_recipe

CASES: dict[str, dict[str, Any]] = {
    "lora": {},
    "lora in bfloat16, with dropout, averaged": {
        "tune": {"dropout": 0.2}, "run": {"precision": "bf16", "average": 2},
    },
    "frozen": {"tune": {"method": "frozen"}},
    "whole, balanced and smoothed": {
        "tune": {"method": "whole", "balanced": True},
        "optimizer": {"label_smoothing": 0.1},
    },
    "tagging, muon": {"task": "tagging", "optimizer": {"name": "muon"}},
}  # fmt: skip


def recipe(folder: Path, settings: dict[str, Any]) -> Any:
    return finetuning_recipe(folder, **settings)


@pytest.mark.parametrize("settings", CASES.values(), ids=CASES)
def test_killed_anywhere_and_resumed_is_never_stopped(
    settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = recipe(tmp_path / "data", settings)
    whole = start(made, tmp_path / "whole")
    whole.train()
    session = start(made, tmp_path / "killed")
    (tmp_path / "data").rename(tmp_path / "gone")  # a resumption reads none of it
    for step in (4, 8, 11):
        kill_after(monkeypatch, session, step)
        with pytest.raises(Killed):
            session.train()
        torch.manual_seed(step)
        session = resume(tmp_path / "killed")
    session.train()
    assert_same_state(state_of(session), state_of(whole))
    for name in ("best", "last"):
        one, other = (tmp_path / run / name / "model.safetensors" for run in ("whole", "killed"))
        assert one.read_bytes() == other.read_bytes(), name


@pytest.mark.parametrize(("method", "precision"), [("lora", "bf16"), ("frozen", "fp32")])
def test_the_frozen_base_is_bit_unchanged(method: str, precision: str, tmp_path: Path) -> None:
    made = recipe(tmp_path, {"tune": {"method": method}, "run": {"precision": precision}})
    session = start(made, tmp_path / "run")
    session.train()
    base = from_pretrained(tmp_path / "model").state_dict()
    with session.trainer.master_weights():
        for name, parameter in session.trainer.model.named_parameters():
            if not parameter.requires_grad:  # within an adapted part the matrix is .linear
                same = name.replace(".w_q.linear.", ".w_q.").replace(".w_v.linear.", ".w_v.")
                assert torch.equal(parameter, base.pop(same)), name
    assert all(name.startswith("heads.") for name in base)
    begun = from_pretrained(tmp_path / "run" / "base").state_dict()
    saved = from_pretrained(tmp_path / "run" / "best").state_dict()
    changed = {n for n in begun if not torch.equal(begun[n], saved[n])}
    adapted = {n for n in begun if n.endswith(("w_q.weight", "w_v.weight"))}
    expected = {n for n in begun if n.startswith("heads.")}
    assert changed == expected | (adapted if method == "lora" else set())


@pytest.mark.parametrize("method", ["lora", "frozen", "whole"])
def test_gradients_reach_all_trained_parameters_and_no_others(method: str, tmp_path: Path) -> None:
    session = start(recipe(tmp_path, {"tune": {"method": method}}), tmp_path / "run")
    model: Any = session.trainer.model
    for part in (part for _, part in adapted_parts(model)):
        torch.nn.init.normal_(part.up.weight)  # else A has no gradient in the first step
    session.task.losses(model, next(session.task.batches)).smoothed.backward()
    reached = {n for n, p in model.named_parameters() if p.grad is not None and p.grad.any()}
    heads = {n for n, _ in model.named_parameters() if n.startswith("heads.")}
    low = {n for n, _ in model.named_parameters() if ".down." in n or ".up." in n}
    everything = {n for n, _ in model.named_parameters()}
    unseen = {n for n in everything if n.endswith("w_k.bias")}  # a softmax does not see it
    expected = {"lora": heads | low, "frozen": heads, "whole": everything}[method]
    assert reached | unseen == expected | unseen and reached <= expected


@pytest.mark.parametrize("task", ["classification", "tagging"])
def test_the_run_learns_what_can_be_learned(task: str, tmp_path: Path) -> None:
    made = recipe(
        tmp_path,
        {"task": task, "tune": {"method": "whole"}, "run": {"steps": 70, "eval_every": 70}},
    )
    session = start(made, tmp_path / "run")
    before = session.task.validate(session.trainer.model, 0)
    session.train()
    after = session.task.validate(session.trainer.model, 0)
    assert after.loss < 0.6 * before.loss and after.scores["accuracy"] > 0.9


def test_an_adapter_beside_the_base_is_the_merged_model(tmp_path: Path) -> None:
    start(recipe(tmp_path, {}), tmp_path / "run").train()
    best = tmp_path / "run" / "best"
    merged = from_pretrained(best)
    adapted, how = load_adapter(from_pretrained(tmp_path / "model"), best / "adapter")
    ids = torch.tensor([[2, 5, 9, 6, 3], [2, 7, 8, 3, 0]])
    mask = padding_mask(ids, 0)
    one, other = (m.heads["sequence"](m(ids, mask)) for m in (merged, adapted))
    torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)
    assert how.rank == 2 and label_names(merged) == label_names(adapted) == ["good", "other"]
    names = ("model.safetensors", "adapter/adapter_model.safetensors")
    whole, small = ((best / name).stat().st_size for name in names)
    assert small < whole


def test_the_saved_model_predicts_as_validated_also_in_transformers(tmp_path: Path) -> None:
    made = recipe(tmp_path, {"task": "tagging", "run": {"steps": 24}})
    session = start(made, tmp_path / "run")
    session.train()
    task: Any = session.task
    last = tmp_path / "run" / "last"
    model, _ = load(last)
    labels, loss = predict(model, "token", task.dev)
    assert loss == pytest.approx(session.progress.dev["loss"], rel=1e-4)
    theirs = transformers.AutoModelForTokenClassification.from_pretrained(last).eval()
    batch = pad(task.dev, 0)
    with torch.no_grad():
        ids = torch.from_numpy(batch.ids)
        logits = theirs(ids, (ids != 0).long()).logits
    for row, ours, example in zip(logits.argmax(-1), labels, task.dev, strict=True):
        assert row[: len(example.ids)].tolist() == ours.tolist()


def test_a_batch_is_its_texts_one_by_one(tmp_path: Path) -> None:
    session = start(recipe(tmp_path, {"task": "tagging"}), tmp_path / "run")
    task: Any = session.task
    together, _ = predict(task.model, "token", task.dev)
    alone = [predict(task.model, "token", [example]) for example in task.dev]
    for said, (one, _) in zip(together, alone, strict=True):
        assert np.array_equal(said, one[0])


def test_the_loss_is_a_sum_over_labels_that_count(tmp_path: Path) -> None:
    session = start(recipe(tmp_path, {"task": "tagging"}), tmp_path / "run")
    task: Any = session.task
    model = session.trainer.model.eval()
    batch = next(task.batches)
    losses = task.losses(model, batch)
    ids = torch.from_numpy(batch.ids)
    scores = model.heads["token"](model(ids, padding_mask(ids, 0)))
    logp = F.log_softmax(scores, dim=-1)
    expected = [
        -logp[i, t, label]
        for i, row in enumerate(batch.targets)
        for t, label in enumerate(row)
        if label != -100
    ]
    torch.testing.assert_close(losses.nll, torch.stack(expected).sum())
    assert losses.tokens == len(expected)
    assert torch.equal(losses.smoothed, losses.nll)


def test_balanced_gives_every_label_the_same_weight_and_an_example_one_on_average(
    tmp_path: Path,
) -> None:
    session = start(recipe(tmp_path, {"tune": {"balanced": True}}), tmp_path / "run")
    task: Any = session.task
    targets = torch.tensor([example.targets[0] for example in task.batches.examples])
    weights = task.weights[targets]
    assert weights.mean() == pytest.approx(1.0)
    sums = [float(weights[targets == label].sum()) for label in (0, 1)]
    assert sums[0] == pytest.approx(sums[1]) and (targets == 0).sum() != (targets == 1).sum()


def test_smoothing_leaves_the_weights_balanced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"tune": {"balanced": True}, "optimizer": {"label_smoothing": 0.1}}
    task: Any = start(recipe(tmp_path, settings), tmp_path / "run").task
    labels, scores = np.array([0] * 19 + [1]), torch.zeros(20, 2, requires_grad=True)
    task.weights = torch.tensor([20 / (2 * 19), 20 / 2])
    monkeypatch.setattr("clearhead.training.tasks.finetuning.head_scores", lambda *given: scores)
    batch = pad([Example([2, 3], None, [label]) for label in labels], 0)
    task.losses(task.model, batch).smoothed.backward()
    assert scores.grad is not None
    assert scores.grad.argmin(dim=1).tolist() == labels.tolist()  # its own label is to rise
    assert scores.grad.sum(dim=0).tolist() == pytest.approx([0, 0], abs=1e-5)
