"""Models: padding changes nothing, directories give the same numbers back, known layouts load."""

import itertools
import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from clearhead.biology.answering import hidden_of, scores_of
from clearhead.biology.encoder import ConvolutionConfig, MotifConfig
from clearhead.biology.linear_part import STRENGTH, RankWeights
from clearhead.biology.model import HeadName, ModelConfig, SequenceModel, load_model, save_model
from clearhead.biology.similarity import ALPHA, SHARPNESS, SimilarityScores
from clearhead.biology.vocabulary import Vocabulary
from clearhead.blocks import padding_mask
from clearhead.errors import UserError
from clearhead.models import BertConfig, EsmConfig
from clearhead.models.adapting import Adaptation, adapt, merge
from tests.biology.synthetic import bases
from tests.pretrained.reference import CLOSE, disturbed, furthest, ragged, saved

MOTIF = MotifConfig(10, seq_len=41, d_model=12, layers=2, h=3, d_ff=20, motif=5, token_width=7)
ENCODERS: dict[str, Any] = {
    "motif": MOTIF,
    "convolution": ConvolutionConfig(10, d_model=12, h=3, motif=5),
    "bert": BertConfig(10, seq_len=41, d_model=12, layers=2, h=3, d_ff=20),
    "esm": EsmConfig(10, seq_len=41, d_model=12, layers=2, h=3, d_ff=20, pad_id=0, mask_id=4),
}


def model_of(encoder: str, head: HeadName) -> SequenceModel:
    torch.manual_seed(3)
    labels = ("a", "b", "c") if head != "masked" else ()
    return SequenceModel(ModelConfig("dna", ENCODERS[encoder], head, labels)).eval()


def sequences() -> list[list[int]]:
    rng = random.Random(1)
    lengths = (29, 5, 17, 11, 23)
    return [Vocabulary.of_bases().encode(bases(length, rng)) for length in lengths]


@pytest.mark.parametrize("head", ["pooled", "token"])
@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_batch_says_what_each_sequence_says_alone(encoder: str, head: HeadName) -> None:
    model, ids = model_of(encoder, head), sequences()
    for together, row in zip(scores_of(model, ids), ids, strict=True):
        alone = scores_of(model, [row])[0]
        assert together.shape == alone.shape
        assert np.abs(together - alone).max() <= 1e-5
    for together, row in zip(hidden_of(model, ids), ids, strict=True):
        assert np.abs(together - hidden_of(model, [row])[0]).max() <= 1e-5


def test_neighbours_outside_the_window_do_not_change_an_embedding() -> None:
    model = model_of("motif", "token")
    ids = torch.tensor([sequences()[0]])
    changed = ids.clone()
    changed[0, 11] = 5 + (ids[0, 11] - 4) % 4
    mask = torch.ones(1, 1, 1, ids.shape[1], dtype=torch.bool)
    embed: Any = model.encoder.get_submodule("embed")
    different = (embed(ids, mask) != embed(changed, mask)).any(-1)[0]
    assert different.nonzero()[:, 0].tolist() == [9, 10, 11, 12, 13]


@pytest.mark.parametrize("encoder", ENCODERS)
def test_a_saved_model_gives_the_same_scores(tmp_path: Path, encoder: str) -> None:
    model, ids = model_of(encoder, "pooled"), sequences()
    save_model(model, Vocabulary.of_bases(), tmp_path)
    loaded = load_model(tmp_path)
    assert loaded.config == model.config
    for one, other in zip(scores_of(model, ids), scores_of(loaded.models[0], ids), strict=True):
        assert (one == other).all()


def test_an_adapted_model_is_merged_before_it_is_saved(tmp_path: Path) -> None:
    model = adapt(model_of("bert", "pooled"), Adaptation(rank=2))
    with pytest.raises(UserError, match=r"merge\(model\) first"):
        save_model(model, Vocabulary.of_bases(), tmp_path)
    save_model(merge(model), Vocabulary.of_bases(), tmp_path)


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("config.json", "head", "oracle"),
        ("config.json", "encoder", None),
        ("config.json", "family", 3),
        ("calibration.json", "temperature", None),
        ("calibration.json", "temperature", 0),
        ("calibration.json", "temperature", float("nan")),
        ("calibration.json", "temperature", "warm"),
        ("calibration.json", "other", 1.5),
    ],
)
def test_a_damaged_file_of_a_model_is_named_in_one_line(
    tmp_path: Path, name: str, key: str, value: Any
) -> None:
    save_model(model_of("motif", "pooled"), Vocabulary.of_bases(), tmp_path)
    path = tmp_path / name
    values = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.write_text(json.dumps(values | {key: value}), encoding="utf-8")
    with pytest.raises(UserError, match=f"{name} is damaged .*copy the model again") as caught:
        load_model(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_model_without_its_vocabulary_does_not_take_a_similar_one(tmp_path: Path) -> None:
    """k-mers have a vocab.txt as well, which does not say how far apart they begin."""
    model = model_of("motif", "pooled")
    sizes = replace(MOTIF, vocab_size=4**3 + 5)
    model = SequenceModel(replace(model.config, encoder=sizes))
    save_model(model, Vocabulary.of_kmers(3, step=3), tmp_path)
    (tmp_path / "vocabulary.json").unlink()
    with pytest.raises(UserError, match=r"cannot read .*vocabulary\.json"):
        load_model(tmp_path)


def test_a_file_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "x.fasta").write_text(">x\nACGT\n", encoding="utf-8")
    with pytest.raises(UserError, match="is a file; expected a model directory") as caught:
        load_model(tmp_path / "x.fasta")
    assert "vocabulary" in str(caught.value)


def test_an_aligned_model_tells_positions_apart() -> None:
    torch.manual_seed(0)
    sizes = replace(MOTIF, seq_len=9, aligned=True)
    model = SequenceModel(ModelConfig("dna", sizes, "aligned", ("a", "b"))).eval()
    row = torch.tensor([[2, 5, 5, 5, 5, 5, 6, 5, 3]])
    moved = torch.tensor([[2, 5, 5, 6, 5, 5, 5, 5, 3]])
    assert (model(row) - model(moved)).abs().max() > 1e-3


def test_pooled_positions_keep_what_a_batch_says() -> None:
    sizes = replace(MOTIF, aligned=True, pool=3, seq_len=17)
    assert sizes.positions == 6
    torch.manual_seed(3)
    model = SequenceModel(ModelConfig("dna", sizes, "aligned", ("a", "b"))).eval()
    rng = random.Random(1)
    ids = [Vocabulary.of_bases().encode(bases(15, rng)) for _ in range(5)]
    assert hidden_of(model, ids)[0].shape == (6, 12)
    for together, row in zip(scores_of(model, ids), ids, strict=True):
        assert np.abs(together - scores_of(model, [row])[0]).max() <= 1e-5
    with pytest.raises(UserError, match="pool=3 needs aligned sequences"):
        replace(MOTIF, pool=3)


@torch.no_grad()
@pytest.mark.parametrize("windows", [(0,), (2, 3)])
def test_similarity_is_kernel_ridge_regression(windows: tuple[int, ...]) -> None:
    """Written with loops and with scikit-learn's solver; the window has the least error."""
    from sklearn.kernel_ridge import KernelRidge

    rng = np.random.default_rng(2)
    rows = rng.integers(1, 5, size=(40, 9)).tolist()
    if windows == (0,):
        rows = [row[: 4 + number % 6] for number, row in enumerate(rows)]
    classes = torch.tensor([(row[2] == row[3]) + (row[0] == 1) for row in rows]).long()
    part = SimilarityScores(40, sum(map(len, rows)), vocab_size=6, outputs=3)
    part.fit(rows, classes, windows)
    wanted = 2 * np.eye(3)[classes] - 1
    centred = wanted - wanted.mean(axis=0)
    errors = {
        w: left_out(kernel_by_loops(rows, w), centred, ALPHA["aligned" if w else "free"])
        for w in windows
    }
    window = int(part.window)
    assert window == min(errors, key=lambda width: errors[width])
    values = kernel_by_loops(rows, window)
    theirs = KernelRidge(alpha=ALPHA["aligned" if window else "free"], kernel="precomputed").fit(
        values, centred
    )
    ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
    ours = part(ids, padding_mask(ids, 0)).numpy()
    assert np.abs(ours - theirs.predict(values) - wanted.mean(axis=0)).max() < 1e-4


def kernel_by_loops(rows: list[list[int]], window: int) -> np.ndarray:
    sharpness = SHARPNESS["aligned" if window else "free"]
    similar = [[alike(one, other, window) for other in rows] for one in rows]
    return np.exp(2 * sharpness * (np.array(similar) - 1))


def alike(one: list[int], other: list[int], window: int) -> float:
    if window:
        starts = range(len(one) - window + 1)
        return float(np.mean([one[t : t + window] == other[t : t + window] for t in starts]))
    mine, theirs = (Counter([*row, *pairs_of(row)]) for row in (one, other))
    names = [*mine, *(name for name in theirs if name not in mine)]
    a, b = (np.log1p([counts[name] for name in names]) for counts in (mine, theirs))
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def pairs_of(row: list[int]) -> Iterator[tuple[int, int, int]]:
    """Two tokens and how far they are apart, at most three."""
    for one, other in itertools.combinations(range(len(row)), 2):
        if other - one <= 3:
            yield row[one], row[other], other - one


def left_out(kernel: np.ndarray, wanted: np.ndarray, alpha: float) -> float:
    """The mean squared error of records on which the regression is not fitted."""
    errors = []
    for row in range(len(kernel)):
        kept = np.arange(len(kernel)) != row
        inner = kernel[np.ix_(kept, kept)] + alpha * np.eye(len(kernel) - 1)
        errors.append(wanted[row] - kernel[row, kept] @ np.linalg.solve(inner, wanted[kept]))
    return float(np.square(errors).mean())


@pytest.mark.parametrize("balanced", [False, True])
def test_ranks_are_logistic_regression(balanced: bool) -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(2)
    rows = [rng.permutation(np.arange(1, 9))[: 3 + n % 5].tolist() for n in range(90)]
    classes = torch.tensor([int(row[0] < 5) + int(row[1] == 3) for row in rows])
    part = RankWeights(vocab_size=9, outputs=3)
    part.fit(rows, classes, balanced)
    design = np.zeros((90, 9))
    for number, row in enumerate(rows):
        for rank, token in enumerate(row):
            design[number, token] = (2 - rank / len(row)) / np.sqrt(len(row)) * 2 / 3
    weight = "balanced" if balanced else None
    model = LogisticRegression(C=STRENGTH, class_weight=weight, max_iter=5000, tol=1e-8)
    theirs = model.fit(design, classes.numpy()).predict_proba(design)
    ids = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
    ours = part(ids, padding_mask(ids, 0)).softmax(dim=-1).detach().numpy()
    assert np.abs(ours - theirs).max() < 5e-3


@torch.no_grad()
def test_weights_in_dnaberts_layout_load(tmp_path: Path) -> None:
    sizes = {"hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4,
             "intermediate_size": 40, "max_position_embeddings": 50}  # fmt: skip
    config = transformers.BertConfig(**sizes, vocab_size=4**3 + 5)
    theirs = saved(disturbed(transformers.BertForMaskedLM(config)), tmp_path)
    vocabulary = Vocabulary.of_kmers(3)
    (tmp_path / "vocab.txt").write_text("\n".join(vocabulary.tokens), encoding="utf-8")
    loaded = load_model(tmp_path)
    assert loaded.vocabulary.cut == vocabulary.cut
    ids = ragged(69, (7, 48, 19), 0, low=5)
    real = ids != 0
    answer = theirs(ids, real.long(), output_hidden_states=True)
    assert furthest(loaded.models[0].hidden(ids), answer.hidden_states[-1], real) <= CLOSE
    assert furthest(loaded.models[0](ids), answer.logits, real) <= CLOSE


@torch.no_grad()
def test_weights_in_esms_layout_load(tmp_path: Path) -> None:
    config = transformers.EsmConfig(
        vocab_size=33, hidden_size=24, num_hidden_layers=2, num_attention_heads=3,
        intermediate_size=40, max_position_embeddings=60, pad_token_id=1, mask_token_id=32,
        position_embedding_type="rotary", token_dropout=True, layer_norm_eps=1e-5,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    theirs = saved(disturbed(transformers.EsmForMaskedLM(config)), tmp_path)
    vocabulary = Vocabulary.of_residues()
    (tmp_path / "vocab.txt").write_text("\n".join(vocabulary.tokens), encoding="utf-8")
    loaded = load_model(tmp_path)
    assert loaded.config.domain == "protein" and len(vocabulary.tokens) == 33
    ids = ragged(24, (7, 40, 19), 1, low=4)
    real = ids != 1
    answer = theirs(ids, real.long())
    assert furthest(loaded.models[0](ids), answer.logits, real) <= CLOSE


def test_a_directory_without_a_model_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="expected a model directory or the directory of a run"):
        load_model(tmp_path)


def test_scores_become_float64_on_the_processor_since_apples_gpus_have_no_float64() -> None:
    class OnMps(torch.Tensor):
        def double(self) -> torch.Tensor:
            raise TypeError("Cannot convert a MPS Tensor to float64 dtype")

        def cpu(self) -> torch.Tensor:
            return self.as_subclass(torch.Tensor)

    model = model_of("motif", "pooled")
    model.register_forward_hook(lambda *given: given[-1].as_subclass(OnMps))
    assert scores_of(model, [[5, 6, 7]])[0].dtype == np.float64
