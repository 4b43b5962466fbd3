"""Training: a rule is learned, a stopped run continues bit by bit, predictions are calibrated."""

import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from clearhead.biology import training
from clearhead.biology.added_part import WEIGHTS
from clearhead.biology.benchmark import Plan, benchmark
from clearhead.biology.dna import reverse_complement
from clearhead.biology.explaining import explain
from clearhead.biology.model import load_model
from clearhead.biology.predicting import Predictor
from clearhead.biology.similarity import SimilarityScores
from clearhead.data.sequences import Record, read_records
from clearhead.errors import UserError
from clearhead.evaluation.labelled import spearman
from clearhead.files import atomic_write
from clearhead.models.weights import read_tensors
from clearhead.training import session
from clearhead.training.recipe_file import dump_recipe, load_recipe, override
from clearhead.training.run_directory import RunDirectory
from clearhead.training.tasks.labelled_examples import load_examples
from tests.biology.synthetic import write_genome, write_numbers, write_promoters, write_states

SMALL: dict[str, Any] = {"d_model": 16, "layers": 1, "h": 2, "d_ff": 24}
QUICK: dict[str, Any] = {"steps": 60, "batch_texts": 16, "eval_every": 30, "members": 1}


def values(path: Path, model: Any = None, run: Any = None, **more: Any) -> dict[str, Any]:
    return {
        "data": {"train": str(path), "domain": "dna"},
        "model": SMALL | (model or {}),
        "optimizer": {"peak_lr": 5e-3, "warmup": 5, **more.pop("optimizer", {})},
        "run": QUICK | (run or {}),
    } | more


def trained(root: Path, wanted: dict[str, Any]) -> Predictor:
    best = training.start(training.resolve(wanted), root)
    return Predictor.from_pretrained(best, "dna")


@pytest.mark.parametrize("length", [26, None])
def test_a_motif_is_learned(tmp_path: Path, length: int | None) -> None:
    data = write_promoters(tmp_path / "train.csv", 200, length=length)
    test = write_promoters(tmp_path / "test.csv", 60, seed=2, length=length)
    predictor = trained(tmp_path / "run", values(data, run={"steps": 250}))
    assert predictor.config.head == ("aligned" if length else "pooled")
    records = list(read_records(test))
    found = list(predictor.predict(records))
    right = sum(p.label == r.label for p, r in zip(found, records, strict=True))
    assert right >= 54
    assert all(abs(p.chances.sum() - 1) < 1e-9 for p in found)


def test_labels_of_positions_are_learned_where_the_mask_counts(tmp_path: Path) -> None:
    data = write_states(tmp_path / "train.csv", 60)
    predictor = trained(tmp_path / "run", values(data, run={"steps": 80}))
    record = next(read_records(write_states(tmp_path / "test.csv", 1, seed=3)))
    found = next(iter(predictor.predict([record])))
    assert found.label == record.label
    assert found.chances.shape == (len(record.sequence), 2)


def test_numbers_are_learned_in_their_units(tmp_path: Path) -> None:
    data = write_numbers(tmp_path / "train.csv", 150)
    predictor = trained(tmp_path / "run", values(data, run={"steps": 200}))
    records = list(read_records(write_numbers(tmp_path / "test.csv", 40, seed=2)))
    said = np.array([float(p.label) for p in predictor.predict(records)])
    truth = np.array([float(r.label or "") for r in records])
    assert np.abs(said - truth).mean() < 0.05
    card = next((tmp_path / "run").rglob("README.md")).read_text(encoding="utf-8")
    assert "regression" in card and "classifier" not in card


def test_pretraining_refuses_validation_data_that_it_would_not_read(tmp_path: Path) -> None:
    genome = write_genome(tmp_path / "genome.fna", 4000)
    wanted = values(genome, {"max_length": 40}, {"steps": 2}, task="biology-masked")
    wanted["data"]["dev"] = str(genome)
    with pytest.raises(UserError, match=r"data\.dev is not read in pre-training"):
        training.start(training.resolve(wanted), tmp_path / "encoder")


def test_members_are_averaged(tmp_path: Path) -> None:
    data = write_promoters(tmp_path / "train.csv", 60)
    predictor = trained(tmp_path / "run", values(data, run={"members": 2, "steps": 20}))
    assert len(predictor.loaded.models) == 2
    record = next(read_records(data))
    alone = [
        Predictor(predictor.loaded._replace(models=(model,))).scores([record])[0]
        for model in predictor.loaded.models
    ]
    assert np.allclose(predictor.scores([record])[0], np.mean(alone, axis=0))
    assert not np.allclose(*alone)


def test_members_share_learned_tokens_and_the_scale_of_numbers(tmp_path: Path) -> None:
    """What is fitted on training data is fitted once, not on what each member learns from."""
    data = write_promoters(tmp_path / "train.csv", 60, length=None)
    pieces = {"kind": "bpe", "size": 40}
    run = {"members": 2, "steps": 2}
    trained(tmp_path / "bpe", values(data, run=run, tokens=pieces))
    numbers = write_numbers(tmp_path / "numbers.csv", 60)
    trained(tmp_path / "numbers", values(numbers, run=run))
    for root in (tmp_path / "bpe", tmp_path / "numbers"):
        one, other = (load_model(root / "best" / f"member-{n}") for n in (1, 2))
        assert one.vocabulary.tokens == other.vocabulary.tokens
        assert one.vocabulary.cut == other.vocabulary.cut
        assert one.config.scale == other.config.scale
    resumed: Any = session.resume(
        tmp_path / "numbers" / "run-1", load_recipe(str(tmp_path / "numbers/run-1/config.yaml"))
    )
    resumed.run.release()
    assert resumed.task.model.config.scale == one.config.scale


@pytest.mark.parametrize("length", [26, None])
def test_similarity_is_added_and_fitted_again_on_every_record(
    tmp_path: Path, length: int | None
) -> None:
    data = write_promoters(tmp_path / "train.csv", 90, length=length)
    predictor = trained(tmp_path / "run", similar(data))
    examples = load_examples(RunDirectory(tmp_path / "run"), Record)
    encode = predictor.loaded.vocabulary.encode
    rows = [encode(r.sequence) for r in (*examples.train, *examples.dev)]
    classes = torch.tensor([int(r.label == "yes") for r in (*examples.train, *examples.dev)])
    found = predictor.loaded.models[0].linear
    assert isinstance(found, SimilarityScores)
    part = SimilarityScores(len(rows), sum(map(len, rows)), 10, 2)
    part.fit(rows, classes, (int(found.window),))
    assert (int(found.window) == 0) == (length is None)
    weight = float(found.weight.norm() / part.weight.norm())
    assert min(abs(weight - one) for one in WEIGHTS) < 1e-3 * weight
    assert torch.allclose(found.weight, weight * part.weight, atol=1e-3)
    before = read_tensors(tmp_path / "run" / "best" / "model.safetensors")
    training.resume(tmp_path / "run")  # a finished run: the part is found again, not added twice
    after = read_tensors(tmp_path / "run" / "best" / "model.safetensors")
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_members_have_the_same_part_in_the_end(tmp_path: Path) -> None:
    data = write_promoters(tmp_path / "train.csv", 60)
    wanted = similar(data)
    wanted["run"]["members"] = 2
    predictor = trained(tmp_path / "run", wanted)
    one, other = (model.linear for model in predictor.loaded.models)
    assert isinstance(one, SimilarityScores) and isinstance(other, SimilarityScores)
    assert torch.allclose(one.weight.norm(), other.weight.norm(), rtol=1e-3)
    part = SimilarityScores(60, 60 * 28, 10, 2)
    every = list(read_records(data))
    classes = torch.tensor([int(record.label == "yes") for record in every])
    part.fit(
        [predictor.loaded.vocabulary.encode(record.sequence) for record in every],
        classes,
        (int(one.window),),
    )
    weight = float(one.weight.norm() / part.weight.norm())
    assert min(abs(weight - chosen / 2) for chosen in WEIGHTS) < 1e-3 * weight


def test_validation_records_that_the_user_gave_are_never_learned_from(tmp_path: Path) -> None:
    lines = write_promoters(tmp_path / "train.csv", 90).read_text(encoding="utf-8").splitlines()
    rows = [f"{line},{'valid' if n % 3 == 1 else 'train'}" for n, line in enumerate(lines[1:])]
    (tmp_path / "parts.csv").write_text("\n".join([f"{lines[0]},split", *rows]), encoding="utf-8")
    predictor = trained(tmp_path / "run", similar(tmp_path / "parts.csv"))
    assert predictor.config.compared == (60, 60 * 28)


def test_the_model_card_has_the_scores_of_the_finished_model(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = write_promoters(tmp_path / "train.csv", 90)
    with caplog.at_level("INFO", "clearhead.train"):
        predictor = trained(tmp_path / "run", similar(data))
    assert isinstance(predictor.loaded.models[0].linear, SimilarityScores)
    card = (tmp_path / "run" / "best" / "README.md").read_text(encoding="utf-8")
    accuracy = re.findall(r"held-out labels: accuracy (\S+);", caplog.text)[0]
    found = re.search(r"- Validation on .*: accuracy (\S+), macro F1 \S+, Matthews \S+\n", card)
    assert found and f"{float(found[1]):.3f}" == accuracy


def test_classes_that_are_not_held_out_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = write_promoters(tmp_path / "train.csv", 40)
    text = data.read_text(encoding="utf-8").replace(",yes", ",rare", 1)
    data.write_text(text, encoding="utf-8")
    with caplog.at_level("INFO", "clearhead.train"):
        trained(tmp_path / "run", similar(data))
    assert "not among the held-out labels, so never validated: rare" in caplog.text
    assert "optimistic, since the model was chosen by these labels" in caplog.text


def similar(data: Path) -> dict[str, Any]:
    return values(data, {"linear": "similarity"}, {"steps": 4})


def test_balanced_classes_have_the_same_weight_in_the_loss(tmp_path: Path) -> None:
    data = write_promoters(tmp_path / "train.csv", 120)
    lines = data.read_text(encoding="utf-8").splitlines(keepends=True)
    few = [line for n, line in enumerate(lines) if n < 41 or not line.endswith("yes\n")]
    data.write_text("".join(few), encoding="utf-8")
    recipe = training.resolve(values(data, optimizer={"balanced": True}))
    task: Any = session.start(recipe, tmp_path / "run").task
    counts = Counter(record.label for record in task.parts.train)
    assert counts["yes"] < counts["no"] / 2
    totals = np.array([counts["no"], counts["yes"]]) * task.weights.numpy()
    assert np.allclose(totals, len(task.parts.train) / 2)


def test_both_strands_get_the_same_answer(tmp_path: Path) -> None:
    data = write_promoters(tmp_path / "train.csv", 60)
    predictor = trained(tmp_path / "run", values(data, augment={"both_strands": True}))
    record = next(read_records(data))
    other = record._replace(sequence=reverse_complement(record.sequence))
    one, two = (found.chances for found in predictor.predict([record, other]))
    assert np.allclose(one, two)


@pytest.mark.parametrize("kind", ["characters", "kmers"])
def test_an_explanation_is_of_the_prediction_of_both_strands(tmp_path: Path, kind: str) -> None:
    """Both strands have one prediction, so each base has the same effect on either."""
    data = write_promoters(tmp_path / "train.csv", 60, length=None)
    tokens = {"kind": kind, "k": 3}
    wanted = values(data, augment={"both_strands": True}, tokens=tokens)
    loaded = trained(tmp_path / "run", wanted).loaded
    sequence = next(read_records(data)).sequence
    one, two = (explain(loaded, s).effect for s in (sequence, reverse_complement(sequence)))
    assert np.allclose(one, two[::-1]) and np.abs(one).max() > 0


def test_a_stopped_run_continues_bit_by_bit(tmp_path: Path) -> None:
    data = write_promoters(tmp_path / "train.csv", 60)
    recipe = training.resolve(values(data, run={"steps": 12, "eval_every": 4, "save_every": 4}))
    session.start(recipe, tmp_path / "whole").train()
    began = session.start(recipe, tmp_path / "stopped")
    for _ in range(8):
        began._one_step()
    began.run.release()
    training.resume(tmp_path / "stopped")
    one, other = (
        read_tensors(tmp_path / name / "last" / "model.safetensors")
        for name in ("whole", "stopped")
    )
    assert all((one[name] == other[name]).all() for name in one)


def test_zeros_that_mean_a_choice_are_chosen_or_refused_at_a_resumption(tmp_path: Path) -> None:
    data = write_promoters(tmp_path / "train.csv", 60)
    recipe = training.resolve(values(data, run={"steps": 12, "eval_every": 4, "save_every": 4}))
    atomic_write(tmp_path / "config.yaml", dump_recipe(recipe))
    run = training.recipe_of(tmp_path, ["run.eval_every=0", "run.save_every=0"]).run
    assert (run.steps, run.eval_every, run.save_every) == (12, 1, 1)
    with pytest.raises(UserError, match=r"run\.steps=0: a run that goes on"):
        training.recipe_of(tmp_path, ["run.steps=0"])


def test_a_finished_run_continues_with_more_steps(tmp_path: Path) -> None:
    data = write_promoters(tmp_path / "train.csv", 60)
    run = {"steps": 4, "members": 2, "eval_every": 4, "save_every": 4}
    training.start(training.resolve(values(data, run=run)), tmp_path / "run")
    training.resume(tmp_path / "run", ["run.steps=8"])
    for member in ("run-1", "run-2"):
        assert load_recipe(str(tmp_path / "run" / member / "config.yaml")).run.steps == 8


def test_an_encoder_is_pretrained_and_fine_tuned(tmp_path: Path) -> None:
    genome = write_genome(tmp_path / "genome.fna", 4000)
    wanted = values(genome, {"max_length": 40}, {"steps": 60}, task="biology-masked")
    encoder = training.start(training.resolve(wanted), tmp_path / "encoder")
    scores = (tmp_path / "encoder" / "metrics.jsonl").read_text(encoding="utf-8")
    assert '"accuracy"' in scores
    vectors = dict(Predictor.from_pretrained(encoder, "dna").vectors(read_records(genome)))
    assert vectors["chromosome"].shape == (16,)
    with pytest.raises(UserError, match="predicts masked tokens"):  # before a header is written
        Predictor.from_pretrained(encoder, "dna").rows(read_records(genome))
    data = write_promoters(tmp_path / "train.csv", 60)
    predictor = trained(tmp_path / "run", values(data, {"path": str(encoder)}, {"steps": 4}))
    assert predictor.config.encoder.motif == 9


@pytest.mark.parametrize(("kind", "vocabulary"), [("kmers", 4**3 + 5), ("bpe", 40)])
def test_other_tokens_are_trained_on(tmp_path: Path, kind: str, vocabulary: int) -> None:
    data = write_promoters(tmp_path / "train.csv", 60)
    tokens = {"kind": kind, "k": 3, "size": 40}
    predictor = trained(tmp_path / "run", values(data, run={"steps": 4}, tokens=tokens))
    assert predictor.config.encoder.vocab_size == vocabulary


def test_a_benchmark_tests_every_model_on_every_fold(tmp_path: Path) -> None:
    records = list(read_records(write_promoters(tmp_path / "train.csv", 80)))
    wanted = values(tmp_path / "unused", run={"steps": 40})
    del wanted["data"]["train"]
    only = ("majority", "logistic regression, one-hot", "Transformer, from scratch")
    lines = benchmark(records, wanted, Plan(2, 2, only=only), tmp_path / "runs")
    scores = {line.model: line.scores for line in lines}
    assert tuple(scores) == only
    assert scores["majority"]["matthews"] == (0, 0)
    assert scores["logistic regression, one-hot"]["accuracy"][0] > 0.9
    assert len(list((tmp_path / "runs").rglob("train.log"))) == 4  # two folds, two seeds
    with pytest.raises(UserError, match="there is no model 'oracle'; expected majority"):
        benchmark(records, wanted, Plan(2, only=("oracle",)), tmp_path / "more")


def test_a_benchmark_of_positions_counts_those_of_the_mask(tmp_path: Path) -> None:
    records = list(read_records(write_states(tmp_path / "train.csv", 40)))
    wanted = values(tmp_path / "unused", run={"steps": 60})
    del wanted["data"]["train"]
    only = ("majority", "logistic regression, window", "Transformer, from scratch")
    scores = {
        line.model: line.scores["accuracy"][0]
        for line in benchmark(records, wanted, Plan(2, only=only), tmp_path / "runs")
    }
    assert 0.4 < scores["majority"] < 0.6
    assert scores["logistic regression, window"] > 0.99
    assert scores["Transformer, from scratch"] > 0.9


@pytest.mark.parametrize("kind", ["classes", "positions"])
def test_a_class_that_a_fold_does_not_train_on_moves_no_other(tmp_path: Path, kind: str) -> None:
    """It occurs once, in the fold that is tested, and comes first of all classes."""
    write = write_promoters if kind == "classes" else write_states
    records = list(read_records(write(tmp_path / "all.csv", 61)))
    rare = "a" if kind == "classes" else "A" * len(records[6].sequence)
    records[6] = records[6]._replace(label=rare)
    folds = ["1" if number % 3 else "2" for number in range(61)]
    records = [r._replace(split=fold) for r, fold in zip(records, folds, strict=True)]
    wanted = values(tmp_path / "unused", run={"steps": 60})
    only = ("Transformer, from scratch",)
    (line,) = benchmark(records, wanted, Plan(only=only), tmp_path / "runs")
    assert line.scores["accuracy"][0] > 0.8
    assert "auroc" not in line.scores  # one fold has no record of it to rank


@pytest.mark.parametrize(("answer", "score"), [("number", "spearman"), ("classes", "accuracy")])
def test_a_benchmark_scores_the_answer_that_the_recipe_names(
    tmp_path: Path, answer: str, score: str
) -> None:
    """Few different numbers look like classes, many like numbers."""
    data = write_numbers(tmp_path / "all.csv", 160)
    classes = 60 if answer == "classes" else 7
    records = [
        record._replace(label=str(number % classes))
        for number, record in enumerate(read_records(data))
    ]
    wanted = values(data, run={"steps": 4}) | {"data": {"answer": answer}}
    for name in ("mean", "ridge regression, one-hot") if answer == "number" else ("majority",):
        only = (name, "Transformer, from scratch")
        lines = benchmark(records, wanted, Plan(2, only=only), tmp_path / name)
        assert [next(iter(line.scores)) for line in lines] == [score, score]


def test_a_fold_learns_what_the_whole_table_decides(tmp_path: Path) -> None:
    """Of 52 integers, a fold of another split has fewer than there are in a table of numbers."""
    data = write_numbers(tmp_path / "all.csv", 110)
    records = [r._replace(label=str(n % 52)) for n, r in enumerate(read_records(data))]
    records = [r._replace(split=str(n % 52 < 26)) for n, r in enumerate(records)]
    wanted = values(data, run={"steps": 4})
    (line,) = benchmark(records, wanted, Plan(only=("small CNN",)), tmp_path / "runs")
    assert list(line.scores) == ["spearman"]
    (_, best) = (load_model(path) for path in sorted((tmp_path / "runs").rglob("run")))
    assert best.config.labels == ()


def test_a_fold_of_one_length_tests_on_the_others(tmp_path: Path) -> None:
    """One sequence is longer; in one of the two folds it is not among those of training."""
    records = list(read_records(write_promoters(tmp_path / "all.csv", 40)))
    records[7] = records[7]._replace(sequence=records[7].sequence + "A")
    wanted = values(tmp_path / "unused", run={"steps": 2})
    only = ("Transformer, from scratch",)
    assert benchmark(records, wanted, Plan(2, only=only), tmp_path / "runs")


def test_a_benchmark_leaves_an_earlier_one_as_it_is(tmp_path: Path) -> None:
    """It is refused before any model is trained; other models may join those of the directory."""
    records = list(read_records(write_promoters(tmp_path / "all.csv", 40)))
    wanted, root = values(tmp_path / "unused", run={"steps": 2}), tmp_path / "runs"
    benchmark(records, wanted, Plan(2, only=("small CNN",)), root)
    benchmark(records, wanted, Plan(2, only=("majority",)), root)
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*")}
    with pytest.raises(UserError, match=r"small-cnn holds an earlier benchmark; .* --run-dir"):
        benchmark(records, wanted, Plan(2), root)
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*")} == before
    benchmark(records, wanted, Plan(2, only=("Transformer, from scratch",)), root)


def test_an_unknown_key_is_refused_before_a_benchmark_computes(tmp_path: Path) -> None:
    records = list(read_records(write_promoters(tmp_path / "all.csv", 40)))
    with pytest.raises(UserError, match=r"data\.answer"):
        benchmark(records, {"data": {"answer": "names"}}, Plan(2, only=("majority",)), tmp_path)


@pytest.mark.parametrize("name", ["config.json", "vocabulary.json", "model.safetensors"])
def test_a_changed_file_of_a_model_is_noticed(tmp_path: Path, name: str) -> None:
    data = write_promoters(tmp_path / "train.csv", 60)
    trained(tmp_path / "run", values(data, run={"steps": 2}))
    path = tmp_path / "run" / "best" / name
    text = path.read_bytes()
    path.write_bytes(text.replace(b"T", b"A", 1) if b"T" in text[99:] else text + b" ")
    with pytest.raises(UserError, match=rf"{name} is damaged"):
        load_model(tmp_path / "run")


@pytest.mark.parametrize("number", [1, 3])
def test_a_missing_member_is_noticed(tmp_path: Path, number: int) -> None:
    data = write_numbers(tmp_path / "train.csv", 60)
    trained(tmp_path / "run", values(data, run={"steps": 2, "members": 3}))
    shutil.rmtree(tmp_path / "run" / "best" / f"member-{number}")
    with pytest.raises(UserError, match=rf"member-{number}.* is missing; copy the model again"):
        load_model(tmp_path / "run")


def test_an_aligned_model_is_fine_tuned_on_its_own_length_alone(tmp_path: Path) -> None:
    """It keeps its sizes, such as the positions that share one vector."""
    data = write_promoters(tmp_path / "train.csv", 60)
    old = trained(tmp_path / "old", values(data, {"pool": 2}, {"steps": 2}))
    path = {"path": str(tmp_path / "old")}
    new = trained(tmp_path / "new", values(data, path | {"pool": 3}, {"steps": 2}))
    assert new.config.encoder.pool == old.config.encoder.pool == 2
    for length, keys in ((31, {}), (None, {}), (26, {"layout": "free"})):
        other = write_promoters(tmp_path / "other.csv", 60, length=length)
        with pytest.raises(UserError, match="old takes aligned sequences of exactly 26 tokens"):
            training.resolve(values(other, path | keys))


def test_numbers_are_fine_tuned_at_the_positions_that_varied(tmp_path: Path) -> None:
    data = write_numbers(tmp_path / "train.csv", 60)
    old = trained(tmp_path / "old", values(data, run={"steps": 2}))
    new = trained(tmp_path / "new", values(data, {"path": str(tmp_path / "old")}, {"steps": 2}))
    assert new.config.columns == old.config.columns != ()


@pytest.mark.parametrize(
    ("kind", "tokens"), [("convolution", "characters"), ("transformer", "bpe")]
)
def test_any_encoder_is_fine_tuned_on_sequences_of_one_length(
    tmp_path: Path, kind: str, tokens: str
) -> None:
    data = write_promoters(tmp_path / "free.csv", 60, length=None)
    aligned = write_promoters(tmp_path / "aligned.csv", 60)
    cut = {"kind": tokens, "size": 40}
    trained(tmp_path / "old", values(data, {"kind": kind}, {"steps": 2}, tokens=cut))
    path = {"path": str(tmp_path / "old")}
    found = trained(tmp_path / "new", values(aligned, path, {"steps": 2}))
    assert bool(found.config.length) == (tokens == "characters")


@pytest.mark.parametrize("part", ["train", "dev"])
def test_the_aligned_layout_needs_sequences_of_one_length(tmp_path: Path, part: str) -> None:
    wanted = values(write_promoters(tmp_path / "train.csv", 60), {"layout": "aligned"})
    wanted["data"][part] = str(write_promoters(tmp_path / "x.csv", 40, length=None))
    with pytest.raises(UserError, match=r"layout=aligned needs sequences of one length.*=free"):
        training.resolve(wanted)
    wanted["model"]["layout"] = "auto"
    assert training.resolve(wanted).model.layout == "free"


def test_a_similarity_that_is_left_out_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = write_promoters(tmp_path / "train.csv", 60, length=None)
    wanted = values(data, {"linear": "similarity"}, {"steps": 2})
    wanted["tokens"] = {"kind": "kmers", "k": 3}
    found = trained(tmp_path / "run", wanted)
    assert found.loaded.models[0].linear is None
    assert "model.linear=similarity is left out" in caplog.text


@pytest.mark.parametrize(
    ("write", "length", "linear"),
    [
        (write_promoters, 26, "positions"),
        (write_promoters, None, "positions"),
        (write_promoters, 26, "ranks"),
        (write_numbers, 18, "similarity"),
        (write_numbers, None, "positions"),
    ],
)
def test_a_linear_model_that_does_not_fit_the_data_is_refused_before_training(
    tmp_path: Path, write: Any, length: int | None, linear: str
) -> None:
    data = write(tmp_path / "train.csv", 60, length=length)
    with pytest.raises(UserError, match=f"model.linear={linear} does not fit these data"):
        training.resolve(values(data, {"linear": linear}))


def test_the_transformer_can_be_trained_alone_as_the_page_says(tmp_path: Path) -> None:
    given = values(write_promoters(tmp_path / "train.csv", 60, length=26))
    override(given, "model.linear=")  # what `--set model.linear=""` leaves after the shell
    assert training.resolve(given).model.linear == ""


def test_pretraining_goes_on_with_the_encoder_of_a_classifier(tmp_path: Path) -> None:
    data = write_promoters(tmp_path / "train.csv", 60, length=None)
    old = trained(tmp_path / "old", values(data, run={"steps": 2})).loaded.models[0]
    path = {"path": str(tmp_path / "old")}
    wanted = values(data, path, {"steps": 2}, task="biology-masked")
    task: Any = session.start(training.resolve(wanted), tmp_path / "new").task
    assert task.model.config.head == "masked"
    before, after = old.encoder.state_dict(), task.model.encoder.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
    aligned = write_promoters(tmp_path / "aligned.csv", 60)
    trained(tmp_path / "old26", values(aligned, run={"steps": 2}))
    wanted["model"]["path"] = str(tmp_path / "old26")
    with pytest.raises(UserError, match="old26 reads only sequences of its length"):
        training.start(training.resolve(wanted), tmp_path / "other")


def test_the_corrected_command_starts_several_members_in_the_same_place(tmp_path: Path) -> None:
    data = write_promoters(tmp_path / "train.csv", 40)
    good = values(data, run={"steps": 2, "members": 2})
    wrong = good | {"tokens": {"kind": "genes"}}
    with pytest.raises(UserError, match=r"tokens\.kind=genes is not for these data"):
        training.start(training.resolve(wrong), tmp_path / "run")
    trained(tmp_path / "run", good)
    with pytest.raises(UserError, match="is not an empty directory"):
        training.start(training.resolve(good), tmp_path / "run")
    assert load_recipe(str(tmp_path / "run" / "config.yaml")).run.members == 2


def test_damaged_windows_are_cut_again_once_they_are_deleted(tmp_path: Path) -> None:
    genome = write_genome(tmp_path / "genome.fna", 2000)
    wanted = values(genome, {"max_length": 40}, {"steps": 2}, task="biology-masked")
    training.start(training.resolve(wanted), tmp_path / "run")
    path = tmp_path / "run" / "data" / "windows.npz"
    with np.load(path) as stored:
        before = dict(stored)
    for content in (b"", path.read_bytes()[:300], b"text"):
        path.write_bytes(content)
        with pytest.raises(UserError, match=r"windows.npz is damaged .*delete it") as caught:
            training.resume(tmp_path / "run", ["run.steps=4"])
        assert "\n" not in str(caught.value)
    path.unlink()
    training.resume(tmp_path / "run", ["run.steps=4"])
    with np.load(path) as stored:
        assert all(np.array_equal(before[name], stored[name]) for name in before)


def test_a_start_that_was_refused_leaves_no_windows_to_the_next(tmp_path: Path) -> None:
    path = tmp_path / "short.fna"
    path.write_text(">one\nACGTACGTAC\n", encoding="utf-8")
    wanted = values(path, {"max_length": 40}, {"steps": 2}, task="biology-masked")
    with pytest.raises(UserError, match="one window, none for validation; add data"):
        training.start(training.resolve(wanted), tmp_path / "run")
    write_genome(path, 400)
    training.start(training.resolve(wanted), tmp_path / "run")  # more data, same place
    with np.load(tmp_path / "run" / "data" / "windows.npz") as stored:
        assert stored["ids"].size > 400


def test_a_run_of_numbers_reports_a_squared_error_and_no_perplexity(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = write_numbers(tmp_path / "train.csv", 60)
    with caplog.at_level("INFO"):
        trained(tmp_path / "run", values(data, run={"steps": 4, "eval_every": 2}))
    assert "dev loss " in caplog.text and "ppl" not in caplog.text
    assert "ppl" not in (tmp_path / "run" / "metrics.jsonl").read_text(encoding="utf-8")
    card = (tmp_path / "run" / "best" / "README.md").read_text(encoding="utf-8")
    assert "squared error" in card and "perplexity" not in card


def test_an_aligned_model_refuses_another_length(tmp_path: Path) -> None:
    data = write_promoters(tmp_path / "train.csv", 60)
    predictor = trained(tmp_path / "run", values(data, run={"steps": 4}))
    with pytest.raises(UserError, match="5 tokens and this model takes exactly 26"):
        list(predictor.predict([Record("here", "x", "ACGTA")]))


def test_numbers_of_sequences_of_several_lengths_are_learned(tmp_path: Path) -> None:
    """There are no positions for a linear model."""
    data = write_numbers(tmp_path / "train.csv", 120, length=None)
    recipe = training.resolve(values(data, run={"steps": 150}))
    assert (recipe.model.linear, recipe.run.metric) == ("", "loss")
    predictor = Predictor.from_pretrained(training.start(recipe, tmp_path / "run"), "dna")
    records = list(read_records(write_numbers(tmp_path / "test.csv", 40, 2, length=None)))
    said = [float(found.label) for found in predictor.predict(records)]
    assert spearman(np.array([float(r.label or "") for r in records]), np.array(said)) > 0.8


def test_a_sequence_beyond_a_batch_is_refused(tmp_path: Path) -> None:
    """Memory grows with the square of the length; training cuts such sequences and says so."""
    data = write_promoters(tmp_path / "train.csv", 60, length=None)
    predictor = trained(tmp_path / "run", values(data, run={"steps": 2}))
    assert len(list(predictor.predict([Record("here", "x", "ACGT" * 500)]))) == 1
    with pytest.raises(UserError, match="100,000 tokens and this model takes at most 8,190"):
        list(predictor.predict([Record("here", "x", "ACGT" * 25000)]))
    with pytest.raises(UserError, match="10,000 tokens, and --explain runs once for each"):
        explain(predictor.loaded, "ACGT" * 2500)


def test_sequences_that_training_cuts_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = write_promoters(tmp_path / "train.csv", 60, length=None)
    session.start(
        training.resolve(values(data, {"max_length": 22}, {"steps": 2})), tmp_path / "run"
    )
    longer = sum(len(record.sequence) > 20 for record in read_records(data))
    assert f"{longer} of 60 sequences are longer than model.max_length=22" in caplog.text


def test_a_model_of_another_domain_is_refused(tmp_path: Path) -> None:
    data = write_promoters(tmp_path / "train.csv", 60)
    trained(tmp_path / "run", values(data, run={"steps": 2}))
    with pytest.raises(UserError, match="a model of dna"):
        Predictor.from_pretrained(tmp_path / "run", "protein")
    for task in ("biology", "biology-masked"):
        wanted = values(data, {"path": str(tmp_path / "run")}, task=task)
        wanted["data"]["domain"] = "protein"
        with pytest.raises(UserError, match="a model of dna"):
            training.start(training.resolve(wanted), tmp_path / task)


def test_a_run_of_another_kind_is_answered_with_its_command(tmp_path: Path) -> None:
    root = tmp_path / "my run"
    root.mkdir()
    (root / "config.yaml").write_text("task: translation\n", encoding="utf-8")
    with pytest.raises(UserError, match=f"clearhead train --resume --run-dir '{root}'"):
        training.recipe_of(root)
