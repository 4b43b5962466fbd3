"""Models: padding changes nothing, directories give the same numbers back, known layouts load."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from clearhead.biology.answering import hidden_of, scores_of
from clearhead.biology.convolution import ConvolutionConfig
from clearhead.biology.encoder import MotifConfig
from clearhead.biology.linear_part import STRENGTH, PairWeights
from clearhead.biology.model import (
    HeadName,
    Linear,
    ModelConfig,
    SequenceModel,
    load_model,
    save_model,
)
from clearhead.biology.vocabulary import Vocabulary
from clearhead.errors import UserError
from clearhead.models import BertConfig, EsmConfig
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


def test_an_aligned_model_tells_positions_apart() -> None:
    torch.manual_seed(0)
    sizes = replace(MOTIF, seq_len=9, aligned=True)
    model = SequenceModel(ModelConfig("dna", sizes, "aligned", ("a", "b"))).eval()
    row = torch.tensor([[2, 5, 5, 5, 5, 5, 6, 5, 3]])
    moved = torch.tensor([[2, 5, 5, 6, 5, 5, 5, 5, 3]])
    assert (model(row) - model(moved)).abs().max() > 1e-3


@pytest.mark.parametrize("linear", ["", "pairs"])
def test_pooled_positions_keep_what_a_batch_says(linear: Linear) -> None:
    sizes = replace(MOTIF, aligned=True, pool=3, seq_len=17)
    assert sizes.positions == 6
    torch.manual_seed(3)
    model = SequenceModel(ModelConfig("dna", sizes, "aligned", ("a", "b"), linear=linear)).eval()
    rng = random.Random(1)
    ids = [Vocabulary.of_bases().encode(bases(15, rng)) for _ in range(5)]
    assert hidden_of(model, ids)[0].shape == (6, 12)
    for together, row in zip(scores_of(model, ids), ids, strict=True):
        assert np.abs(together - scores_of(model, [row])[0]).max() <= 1e-5
    with pytest.raises(UserError, match="pool=3 needs aligned sequences"):
        replace(MOTIF, pool=3)


def test_the_pairs_are_logistic_regression_on_neighbours() -> None:
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(2)
    ids = rng.integers(4, size=(90, 7))
    classes = 1 * (ids[:, 2] == ids[:, 3]) + (rng.random(90) < 0.4)
    part = PairWeights(seq_len=7, vocab_size=4, outputs=3)
    part.fit(ids, torch.from_numpy(classes))
    pairs = np.eye(16)[ids[:, :-1] * 4 + ids[:, 1:]].reshape(90, -1)
    theirs = LogisticRegression(C=STRENGTH, max_iter=1000, tol=1e-8).fit(pairs, classes)
    ours = part(torch.from_numpy(ids), torch.ones(1)).softmax(dim=-1).numpy()
    assert np.abs(ours - theirs.predict_proba(pairs)).max() < 1e-3


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
