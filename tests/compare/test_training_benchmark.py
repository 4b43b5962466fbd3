from pathlib import Path

import pytest
import torch

from clearhead.compare import didactic, training_benchmark
from clearhead.compare.didactic import DidacticLoop, FixedLength
from clearhead.compare.results import Comparison
from clearhead.compare.timing import Measurement
from clearhead.compare.training_benchmark import (
    CLEARHEAD,
    DIDACTIC,
    PEERS,
    PlainStep,
    epoch_benchmark,
    own_candidates,
)
from clearhead.compare.training_peers import TorchTransformer
from clearhead.compare.workloads import TrainingTask, parse_ids
from clearhead.data import Pair
from clearhead.data.batching import BatchPlan
from clearhead.data.encoded import EncodedCorpus
from clearhead.errors import UserError
from tests.compare.sizes import CONFIG, LENGTH, ROWS, make_task

PAIRS = [Pair("3 4 5", "6"), Pair("7", "8 9 10 11"), Pair("12 13", "14 15"), Pair("16", "17")]


@pytest.fixture
def corpus(tmp_path: Path) -> EncodedCorpus:
    return EncodedCorpus.build(PAIRS, parse_ids, tmp_path / "ids", 9)


def epoch(corpus: EncodedCorpus, batch_tokens: int) -> TrainingTask:
    return TrainingTask(CONFIG, corpus, BatchPlan(batch_tokens), torch.device("cpu"))


def silent(line: str) -> None: ...


def test_every_step_gets_the_same_full_batch(tmp_path: Path) -> None:
    task = make_task(tmp_path)
    source, target = task.batch()
    assert source.shape == target.shape == (ROWS, LENGTH)
    assert (target[:, -1] == CONFIG.eos_id).all() and (target[:, :-1] > CONFIG.eos_id).all()
    batches = task.batches()
    for _ in range(3):  # each epoch has its own order
        again = next(batches)
        assert sorted(again.source.tolist()) == sorted(source.tolist())
        assert sorted(again.target.tolist()) == sorted(target.tolist())


def test_every_step_trains_on_every_token(tmp_path: Path) -> None:
    task = make_task(tmp_path)
    candidates = [
        *own_candidates(task),
        *didactic.candidates(task),
        *PEERS["torch"].candidates(task),
    ]
    for candidate in candidates:
        assert candidate.run() == ROWS * LENGTH, candidate.name


def test_a_plain_step_updates_every_weight_and_reduces_the_loss(tmp_path: Path) -> None:
    task = make_task(tmp_path)
    torch.manual_seed(3)
    model = TorchTransformer(CONFIG)
    step = PlainStep(model, task, autocast=False)
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
    unchanged = [n for n, p in model.named_parameters() if torch.equal(p, before[n])]
    assert not unchanged


def test_a_peer_that_is_not_installed_is_left_out_with_a_remark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        training_benchmark.timing, "is_installed", lambda package: package == "torch"
    )
    only = ["x-transformers", "marian", "didactic"]
    task = make_task(tmp_path)
    benchmark, remarks = training_benchmark.training_benchmark(task, only, 1, silent)
    names = list(benchmark.measurements)
    assert didactic.NAME in names
    assert all(name.startswith(("clearhead", "didactic")) for name in names)
    assert len(remarks) == 2 and not any("\n" in remark for remark in remarks)
    assert 'transformers is not installed (pip install "clearhead[compare]")' in remarks[1]


def test_an_unknown_peer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--only keras: unknown peer; choose from didactic"):
        training_benchmark.training_benchmark(make_task(tmp_path), ["keras"], 1)


def test_our_fastest_is_compared_with_each_peers_fastest() -> None:
    """Compiled autocast is torch's fastest here; its float32 is compared too."""
    ours = "clearhead, bfloat16 weights, float32 master weights"
    speed = {
        "clearhead, float32": 3.0,
        ours: 9.0,
        "torch.nn.Transformer, float32": 1.0,
        "torch.nn.Transformer, bfloat16 autocast, compiled": 2.0,
        "didactic baseline, float32": 0.5,
    }
    found = {name: [Measurement(1.0, rate)] * 3 for name, rate in speed.items()}
    assert list(training_benchmark._step_comparisons(found)) == [
        Comparison(ours, "didactic baseline, float32", 4.0),
        Comparison(ours, "torch.nn.Transformer, bfloat16 autocast, compiled", 2.5),
        Comparison(ours, "torch.nn.Transformer, float32", 4.0),
        Comparison("clearhead, float32", "torch.nn.Transformer, float32", None),
    ]


def test_the_names_of_a_peers_candidates_begin_with_its_prefix(tmp_path: Path) -> None:
    task = make_task(tmp_path)
    for name in ("didactic", "torch"):
        peer = PEERS[name]
        assert all(c.name.startswith(peer.prefix) for c in peer.candidates(task))


def test_lengths_and_target_tokens_include_eos(corpus: EncodedCorpus) -> None:
    task = epoch(corpus, 64)
    assert task.longest == 4 + 1
    assert task.target_tokens == 8 + 4


def test_fixed_padding_pads_every_sentence_to_the_longest(corpus: EncodedCorpus) -> None:
    pairs = FixedLength(corpus, CONFIG, 5)
    assert len(pairs) == len(PAIRS)
    source, target = pairs[1]
    assert source.tolist() == [7, CONFIG.eos_id, 0, 0, 0]
    assert target.tolist() == [8, 9, 10, 11, CONFIG.eos_id]


def test_the_didactic_loop_trains_on_each_pair_once_per_epoch(corpus: EncodedCorpus) -> None:
    torch.manual_seed(1)
    loop = DidacticLoop(corpus, CONFIG, rows=3, seq_len=5)
    for _ in range(2):
        assert loop.step() + loop.step() == epoch(corpus, 64).target_tokens


def test_padding_of_both_trainers_is_that_of_source_and_target(tmp_path: Path) -> None:
    pairs = [Pair("3 4 5 6 7 8 9", "6")] * 3  # all alike: a batch pads nothing
    corpus = EncodedCorpus.build(pairs, parse_ids, tmp_path / "ids", 9)
    benchmark, _ = epoch_benchmark(epoch(corpus, 24), 0.0, 1, silent)
    fixed = FixedLength(corpus, CONFIG, 8)
    ids = torch.stack([side for number in range(3) for side in fixed[number]])
    padding = float((ids == CONFIG.pad_id).float().mean())
    assert benchmark.notes[DIDACTIC] == f"{100 * padding:.0f} % padding"


def test_both_trainers_run_and_the_remarks_state_the_sample(corpus: EncodedCorpus) -> None:
    benchmark, remarks = epoch_benchmark(epoch(corpus, 16), 0.0, 2, silent)
    names = list(benchmark.measurements)
    assert names[0] == DIDACTIC and all(name.startswith(CLEARHEAD) for name in names[1:])
    found = benchmark.measurements.values()
    assert all(len(own) == 2 and all(one.work > 0 for one in own) for own in found)
    first = benchmark.comparisons[0]
    assert first.theirs == DIDACTIC and first.target == 4.0
    assert benchmark.notes[DIDACTIC] == "43 % padding"  # 11 + 12 of 2 · 4 · 5 are tokens
    assert "longest sentence, 5 tokens, 3 pairs per batch" in remarks[0]
    assert "a whole epoch (12 target tokens)" in remarks[1]
