from pathlib import Path

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from clearhead.compare import clearhead_training, didactic, torch_nn, training_race
from clearhead.compare.flops import training_flop
from clearhead.compare.ordinary_step import OrdinaryStep
from clearhead.compare.proofs.tiny import logits
from clearhead.compare.race import Lap
from clearhead.compare.results import Duel
from clearhead.compare.training_race import STARTERS, training_heat
from clearhead.errors import UserError
from clearhead.models import Transformer
from tests.compare.sizes import CONFIG, LENGTH, ROWS, make_task


def test_everyone_is_given_the_same_full_batch_for_ever(tmp_path: Path) -> None:
    task = make_task(tmp_path)
    source, target = task.batch()
    assert source.shape == target.shape == (ROWS, LENGTH)
    assert (target[:, -1] == CONFIG.eos_id).all() and (target[:, :-1] > CONFIG.eos_id).all()
    walk = task.batches()
    for _ in range(3):  # in another order, for that is what an epoch is
        again = next(walk)
        assert sorted(again.source.tolist()) == sorted(source.tolist())
        assert sorted(again.target.tolist()) == sorted(target.tolist())


def test_every_step_learns_from_every_token(tmp_path: Path) -> None:
    task = make_task(tmp_path)
    runners = [
        *clearhead_training.contestants(task),
        *didactic.contestants(task),
        *torch_nn.contestants(task),
    ]
    for runner in runners:
        assert runner.run() == ROWS * LENGTH, runner.name


def test_an_ordinary_step_moves_every_weight_and_makes_the_loss_smaller(tmp_path: Path) -> None:
    task = make_task(tmp_path)
    torch.manual_seed(3)
    model = torch_nn.TorchTransformer(CONFIG)
    step = OrdinaryStep(model, task, autocast=False)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    src, labels = task.batch()

    @torch.no_grad()
    def loss() -> float:
        model.eval()
        tgt = labels.roll(1, dims=1)
        tgt[:, 0] = CONFIG.bos_id
        logits = model(src, tgt).flatten(0, 1)
        model.train()
        return float(torch.nn.functional.cross_entropy(logits, labels.flatten()))

    first = loss()
    for _ in range(20):
        step()
    assert loss() < first
    still = [n for n, p in model.named_parameters() if torch.equal(p, before[n])]
    assert not still


def test_the_arithmetic_of_a_step_is_what_torch_counts() -> None:
    rows, src_len, tgt_len = 3, 7, 5
    torch.manual_seed(1)
    model = Transformer.from_config(CONFIG)
    src, tgt = torch.randint(3, 29, (rows, src_len)), torch.randint(3, 29, (rows, tgt_len))
    with FlopCounterMode(display=False) as counter:
        logits(model, src, tgt).sum().backward()
    assert training_flop(CONFIG, rows, src_len, tgt_len) == counter.get_total_flops()


def test_who_is_not_installed_is_left_out_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training_race, "is_installed", lambda package: package == "torch")
    only = ["x-transformers", "marian", "eole", "didactic"]
    heat, remarks = training_heat(make_task(tmp_path), only, 1, lambda line: None)
    assert didactic.NAME in heat.laps
    assert not [n for n in heat.laps if not n.startswith(("clearhead", "didactic"))]
    assert len(remarks) == 3 and not any("\n" in remark for remark in remarks)
    assert 'transformers is not installed (pip install "clearhead[compare]")' in remarks[1]
    assert remarks[2].endswith("(pip install eole)")


def test_a_name_that_nobody_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--only keras: nobody is called so; choose from didactic"):
        training_heat(make_task(tmp_path), ["keras"], 1)


def test_our_best_meets_the_best_of_each_team() -> None:
    """The compiled autocast is torch's best here, and its plain float32 is met as well."""
    speed = {
        "clearhead, float32": 3.0,
        "clearhead, bfloat16 weights, float32 masters": 9.0,
        "torch.nn.Transformer, float32": 1.0,
        "torch.nn.Transformer, bfloat16 autocast, compiled": 2.0,
        "didactic baseline, float32": 0.5,
    }
    laps = {name: [Lap(1.0, rate)] * 3 for name, rate in speed.items()}
    best = "clearhead, bfloat16 weights, float32 masters"
    assert list(training_race._duels(laps)) == [
        Duel(best, "didactic baseline, float32", 4.0),
        Duel(best, "torch.nn.Transformer, bfloat16 autocast, compiled", 2.5),
        Duel(best, "torch.nn.Transformer, float32", 4.0),
        Duel("clearhead, float32", "torch.nn.Transformer, float32", None),
    ]


def test_the_names_of_teams_begin_the_names_of_their_contestants(tmp_path: Path) -> None:
    task = make_task(tmp_path)
    for name in ("didactic", "torch"):
        entry = STARTERS[name]
        assert all(c.name.startswith(entry.team) for c in entry.contestants(task))
