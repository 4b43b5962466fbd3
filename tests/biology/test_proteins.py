"""Proteins: substitutions by masked marginals, contacts from attention, explanations."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from clearhead.biology import training
from clearhead.biology.encoder import MotifConfig
from clearhead.biology.examples import Parts
from clearhead.biology.explaining import Explanation, attention_of, explain, strongest
from clearhead.biology.linear_part import PositionWeights
from clearhead.biology.model import Loaded, ModelConfig, SequenceModel, load_model
from clearhead.biology.predicting import Predictor
from clearhead.biology.protein import RESIDUES, contacts, masked_marginals, score_of
from clearhead.biology.scale import in_units, scale_of, standardized
from clearhead.biology.vocabulary import ESM_ROLES, ESM_TOKENS, Cut, Vocabulary
from clearhead.blocks import record_attention
from clearhead.data.contacts import read_contacts
from clearhead.data.sequences import Record, read_records
from clearhead.errors import UserError
from clearhead.models import EsmConfig
from tests.biology.synthetic import bases, write_numbers

SEQUENCE = "MKTAYIAKQRW"


def loaded(head: Any = "masked", **more: Any) -> Loaded:
    torch.manual_seed(1)
    sizes = EsmConfig(33, seq_len=30, d_model=24, layers=2, h=3, d_ff=20, initial_std=0.3)
    model = SequenceModel(ModelConfig("protein", sizes, head, **more)).eval()
    return Loaded((model,), Vocabulary.of_residues())


def test_the_wild_type_scores_zero_and_scores_are_log_odds() -> None:
    given = loaded()
    found = masked_marginals(given, SEQUENCE)
    assert found.shape == (11, 20)
    for position, residue in enumerate(SEQUENCE):
        assert found[position, RESIDUES.index(residue)] == 0
    ids = given.vocabulary.encode(SEQUENCE)
    ids[4] = given.vocabulary.specials["mask"]
    logits = given.models[0](torch.tensor([ids]))[0, 4].double().detach()
    chances = logits.softmax(-1)
    expected = float(
        (chances[given.vocabulary.ids["W"]] / chances[given.vocabulary.ids["A"]]).log()
    )
    assert abs(found[3, RESIDUES.index("W")] - expected) < 1e-5


def test_mutants_add_up_and_must_fit_the_sequence() -> None:
    found = masked_marginals(loaded(), SEQUENCE)
    both = score_of(found, SEQUENCE, "K2R:T3S")
    assert both == pytest.approx(
        score_of(found, SEQUENCE, "K2R") + score_of(found, SEQUENCE, "T3S")
    )
    for wrong, says in (
        ("K3R", "residue 3 of [0-9]+ is T, not K"),
        ("K99R", "residue 99 of [0-9]+ is missing"),
        ("2R", "A24G"),
    ):
        with pytest.raises(UserError, match=says):
            score_of(found, SEQUENCE, wrong)


def test_contacts_are_symmetric_and_find_a_pair_that_attends_to_itself() -> None:
    rng = np.random.default_rng(0)
    attention = rng.random((2, 3, 13, 13)) * 0.1
    attention[:, :, 3, 9] += 2.0
    found = contacts(attention, slice(1, 12))
    assert np.allclose(found, found.T) and found.shape == (11, 11)
    assert {tuple(pair) for pair in np.argwhere(found == found.max())} == {(2, 8), (8, 2)}


def test_contacts_are_the_mean_over_heads_of_the_corrected_maps() -> None:
    attention = np.random.default_rng(2).random((2, 3, 9, 9))
    pairs = attention + attention.transpose(0, 1, 3, 2)
    background = pairs.sum(-1, keepdims=True) * pairs.sum(-2, keepdims=True)
    corrected = pairs - background / pairs.sum((-1, -2), keepdims=True)
    assert np.allclose(contacts(attention, slice(0, 9)), corrected.mean(axis=(0, 1)))


def test_attention_that_would_not_fit_into_memory_is_refused() -> None:
    with pytest.raises(UserError, match="shorten it to at most 4,096"):
        attention_of(loaded().models[0], [5] * 4097)


def test_contacts_of_a_structure_are_symmetric_and_count_from_one(tmp_path: Path) -> None:
    path = tmp_path / "contacts.tsv"
    path.write_text("1\t4\n3,5\n", encoding="utf-8")
    found = read_contacts(path, 5)
    assert sorted(zip(*np.nonzero(found), strict=True)) == [(0, 3), (2, 4), (3, 0), (4, 2)]
    for text, message in (("1 x\n", "line 1: '1 x'; expected two positions"), ("2 6\n", "1 to 5")):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(UserError, match=message):
            read_contacts(path, 5)


def test_an_explanation_has_a_number_for_every_residue() -> None:
    given = loaded("pooled", labels=("no", "yes"))
    found = explain(given, SEQUENCE)
    assert found.pieces == list(SEQUENCE)
    assert found.attention.shape == found.effect.shape == (11,)
    weights = attention_of(given.models[0], given.vocabulary.encode(SEQUENCE))
    assert weights.shape == (2, 3, 13, 13) and np.allclose(weights.sum(-1), 1)


def test_the_strongest_tokens_stay_in_order() -> None:
    found = strongest(
        Explanation(list("MKTAY"), np.array([0.1, -0.4, 0.2, -0.1, 0.3]), np.arange(5.0)), 3
    )
    assert found.pieces == ["K", "T", "Y"]
    assert found.effect.tolist() == [-0.4, 0.2, 0.3]
    assert found.attention.tolist() == [1, 2, 4]


def test_vectors_are_means_over_true_residues_whichever_engine_computes_them() -> None:
    given = loaded()
    records = [Record("x", name, SEQUENCE[:size]) for name, size in (("a", 11), ("b", 4))]
    found = dict(Predictor(given).vectors(records))
    for record in records:
        ids = torch.tensor([given.vocabulary.encode(record.sequence)])
        hidden = given.models[0].hidden(ids)[0, 1:-1].mean(0).double().detach().numpy()
        assert np.abs(found[record.name] - hidden).max() <= 1e-5


def test_the_linear_part_is_ridge_regression() -> None:
    from sklearn.linear_model import Ridge

    rng = random.Random(1)
    rows = [[rng.randrange(5) for _ in range(6)] for _ in range(40)]
    values = torch.tensor([rng.gauss(0, 1) for _ in rows])
    part = PositionWeights(6, 5)
    part.fit(np.array(rows), values)
    design = np.eye(5)[np.array(rows)].reshape(40, -1)
    theirs = Ridge(alpha=1.0).fit(design, values.double().numpy()).predict(design)
    ours = part(torch.tensor(rows), torch.ones(1))[:, 0]
    assert np.abs(ours.numpy() - theirs).max() < 1e-5


def test_training_of_numbers_begins_at_the_linear_part(tmp_path: Path) -> None:
    data = write_numbers(tmp_path / "train.csv", 80)
    values: dict[str, Any] = {
        "data": {"train": str(data), "domain": "dna"},
        "model": {"d_model": 16, "layers": 1, "h": 2, "d_ff": 24},
        "optimizer": {"peak_lr": 1e-9},
        "run": {"steps": 1, "members": 1},
    }
    best = training.start(training.resolve(values), tmp_path / "run")
    predictor = Predictor.from_pretrained(best, "dna")
    records = list(read_records(data))
    said = np.array([float(found.label) for found in predictor.predict(records)])
    truth = np.array([float(record.label or "") for record in records])
    assert np.abs(said - truth).mean() < 0.03


def test_numbers_return_to_their_units_with_and_without_logarithm() -> None:
    rng = np.random.default_rng(2)
    for added in (0.0, 0.05):
        values = rng.exponential(size=70)
        scale = (0.3, 1.7, added)
        assert np.abs(in_units(standardized(values, scale), scale) - values).max() < 1e-12


@pytest.mark.parametrize(
    ("values", "choice", "is_log"),
    [
        ([0.0] * 40 + [0.5] * 5 + [9.0], "auto", True),
        ([0.0] * 40 + [0.5] * 5 + [9.0], "no", False),
        (list(range(46)), "auto", False),
        (list(range(46)), "yes", True),
        ([-1.0] * 40 + [0.5] * 5 + [9.0], "auto", False),
    ],
)
def test_the_logarithm_is_learned_where_few_numbers_are_large(
    values: list[float], choice: str, is_log: bool
) -> None:
    records = [Record("here", str(n), "AC", str(value)) for n, value in enumerate(values)]
    scale = scale_of(Parts(records, [], [], "number"), choice)
    assert (scale[2] > 0) == is_log
    learned = standardized(np.array(values, dtype=float), scale)
    assert abs(learned.mean()) < 1e-12
    assert abs(learned.std() - 1) < 1e-12


def test_the_logarithm_of_negative_numbers_is_one_line() -> None:
    records = [Record("here", str(n), "AC", str(n - 9)) for n in range(20)]
    with pytest.raises(UserError, match="needs labels of 0 or more"):
        scale_of(Parts(records, [], [], "number"), "yes")
    skewed = [Record("here", str(n), "AC", str(0.5 * (n == 1))) for n in range(20)]
    assert scale_of(Parts(skewed, [], [], "number"), "auto")[2] > 0
    assert scale_of(Parts(skewed, records[:1], [], "number"), "auto")[2] == 0


def test_the_linear_part_is_fitted_on_held_out_records_at_the_end(tmp_path: Path) -> None:
    data = write_numbers(tmp_path / "train.csv", 50)
    values: dict[str, Any] = {
        "data": {"train": str(data), "domain": "dna"},
        "optimizer": {"peak_lr": 1e-9},
        "run": {"steps": 1, "members": 1},
    }
    model = load_model(training.start(training.resolve(values), tmp_path / "run")).models[0]
    ids = torch.tensor([Vocabulary.of_bases().encode(r.sequence) for r in read_records(data)])
    numbers = np.array([float(r.label or "") for r in read_records(data)])
    learned = standardized(numbers, model.config.scale)
    part = PositionWeights(18, 10)
    part.fit(model.read(ids).numpy(), torch.from_numpy(learned))
    assert isinstance(model.linear, PositionWeights)
    assert (part.weight - model.linear.weight).abs().max() < 1e-5


def test_the_linear_part_never_learns_numbers_that_the_user_gave_for_validation(
    tmp_path: Path,
) -> None:
    data = write_numbers(tmp_path / "train.csv", 50)
    held = write_numbers(tmp_path / "dev.csv", 20, seed=2)
    values: dict[str, Any] = {
        "data": {"train": str(data), "dev": str(held), "domain": "dna"},
        "optimizer": {"peak_lr": 1e-9},
        "run": {"steps": 1, "members": 1},
    }
    model = load_model(training.start(training.resolve(values), tmp_path / "run")).models[0]
    ids = torch.tensor([Vocabulary.of_bases().encode(r.sequence) for r in read_records(data)])
    numbers = np.array([float(r.label or "") for r in read_records(data)])
    part = PositionWeights(18, 10)
    learned = torch.from_numpy(standardized(numbers, model.config.scale))
    part.fit(model.read(ids).numpy(), learned)
    assert isinstance(model.linear, PositionWeights)
    assert (part.weight - model.linear.weight).abs().max() < 1e-5


def test_positions_that_never_vary_are_not_read(tmp_path: Path) -> None:
    rng = random.Random(4)
    rows = ["sequence,fitness"]
    for _ in range(90):
        one, other = rng.choice("ACGT"), rng.choice("ACGT")
        rows.append(f"TTGA{one}CC{other}AAG,{'ACGT'.index(one) + rng.random() / 100:.5f}")
    (tmp_path / "train.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    values: dict[str, Any] = {
        "data": {"train": str(tmp_path / "train.csv"), "domain": "dna"},
        "run": {"steps": 2, "members": 1},
    }
    best = training.start(training.resolve(values), tmp_path / "run")
    predictor = Predictor.from_pretrained(best, "dna")
    assert predictor.config.columns == (5, 8)  # after the special token
    assert predictor.config.encoder.seq_len == 2
    found = predictor.predict([Record("", "1", "TTGATCCAAAG"), Record("", "2", "TTGAACCAAAG")])
    assert [round(float(p.label)) for p in found] == [3, 0]
    vectors = [v for _, v in predictor.vectors([Record("", "1", "TTGATCCAAAG")])]
    assert np.isfinite(vectors).all()  # both positions are residues, none a special token
    with pytest.raises(UserError, match="exactly 11"):
        list(predictor.predict([Record("", "1", "TTGATCCAAA")]))


def test_motif_sizes_must_have_a_middle() -> None:
    with pytest.raises(UserError, match="even, without a center"):
        replace(MotifConfig(10), motif=4)


@pytest.mark.parametrize("columns", [(), (0, 1, 3, 4, 6, 7, 8)], ids=["all", "columns"])
def test_attention_belongs_to_the_tokens_that_were_pooled(columns: tuple[int, ...]) -> None:
    """Eleven residues, pooled by three or the seven that are read, by three: no divisor."""
    read = columns or tuple(range(11))
    sizes = MotifConfig(33, len(read), d_model=12, h=3, d_ff=20, pad_id=1, aligned=True, pool=3)
    config = ModelConfig(
        "protein", sizes, "aligned", labels=("no", "yes"), length=11, columns=columns
    )
    torch.manual_seed(1)
    model = SequenceModel(config).eval()
    bare = Vocabulary(
        ESM_TOKENS, {r: ESM_ROLES[r] for r in ("pad", "unk", "mask")}, Cut("characters")
    )
    found = explain(Loaded((model,), bare), SEQUENCE).attention
    received = attention_of(model, bare.encode(SEQUENCE)).mean(axis=(0, 1, 2))
    expected = np.zeros(11)
    for state, weight in enumerate(received):
        tokens = list(read[3 * state : 3 * state + 3])
        expected[tokens] = weight / len(tokens)
    assert np.allclose(found, expected) and found.sum() == pytest.approx(1)


@pytest.mark.parametrize("kept", [True, False])
def test_afterwards_a_model_records_its_attention_as_before(kept: bool) -> None:
    model = loaded().models[0]
    record_attention(model, kept)
    attention_of(model, [5] * 7)
    model.hidden(torch.tensor([[5] * 7]))
    block = model.get_submodule("encoder.encoder.layers.1.self_attention_block")
    assert (block.attention_scores is not None) == kept


def test_residues_in_lower_case_score_as_in_upper_case_and_others_are_refused() -> None:
    given = loaded()
    assert np.array_equal(masked_marginals(given, "mktay"), masked_marginals(given, "MKTAY"))
    with pytest.raises(UserError, match="letter 2 of the sequence is '1'"):
        masked_marginals(given, "M1T")
    with pytest.raises(UserError, match="the sequence is empty"):
        masked_marginals(given, "")


def test_a_residue_is_substituted_once() -> None:
    with pytest.raises(UserError, match="K2A:K2G substitutes one residue twice"):
        score_of(np.zeros((11, 20)), SEQUENCE, "K2A:K2G")


def test_a_record_without_a_residue_has_no_answer() -> None:
    predictor = Predictor(loaded("pooled", labels=("no", "yes")))
    for sequence in ("", "*"):
        with pytest.raises(UserError, match="row 3: the sequence is empty"):
            list(predictor.predict([Record("row 3", "x", sequence)]))


def test_a_model_whose_head_was_never_trained_scores_no_substitution() -> None:
    with pytest.raises(UserError, match="not a masked language model"):
        masked_marginals(loaded(facts={"untrained_head": True}), SEQUENCE)


def test_both_strands_predict_numbers_with_their_whole_spread(tmp_path: Path) -> None:
    """Of 18 bases only some vary; on the other strand they are at other positions."""
    rng, effect = random.Random(1), dict(zip("ACGT", (0, 1, 3, 7), strict=True))
    rows = [f"{core}AC{core[0]}TTGACCATTAG" for core in (bases(4, rng) for _ in range(150))]
    data = tmp_path / "train.csv"
    lines = [f"{s},{sum(effect[base] for base in s[:4]) - 11}" for s in rows]
    data.write_text("\n".join(["sequence,fitness", *lines]) + "\n", encoding="utf-8")
    values: dict[str, Any] = {
        "data": {"train": str(data), "domain": "dna", "answer": "number"},
        "model": {"d_model": 12, "layers": 1, "h": 2, "d_ff": 16},
        "augment": {"both_strands": True},
        "run": {"steps": 2, "members": 1},
    }
    best = training.start(training.resolve(values), tmp_path / "run")
    records = list(read_records(data))
    found = [float(p.label) for p in Predictor.from_pretrained(best, "dna").predict(records)]
    truth = [float(record.label or "") for record in records]
    assert np.polyfit(truth, found, 1)[0] > 0.9
