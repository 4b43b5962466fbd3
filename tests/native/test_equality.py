"""float32: the native engine computes what the readable models compute, on every kernel."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from clearhead.blocks import decoder_mask, look_ahead_mask, padding_mask
from clearhead.models import Transformer
from clearhead.models.native import native_model
from clearhead.native.model import NativeModel
from clearhead.native.session import (
    Session,
    forced_attention,
    forced_scores,
    hidden_states,
)
from clearhead.native.weights import Floats
from tests.native.library import KERNELS
from tests.native.models import (
    SRC_LEN,
    TGT_LEN,
    TGT_VOCAB,
    TRANSLATORS,
    bert,
    cross_attention_blocks,
    esm,
    gpt,
    random_sources,
    small,
    translator,
)

pytestmark = pytest.mark.parametrize("kernels", KERNELS)


def random_targets(model: Transformer, count: int) -> list[list[int]]:
    """Decoder inputs of 1 to TGT_LEN tokens that begin with BOS, padding nowhere else."""
    rng, config = np.random.default_rng(3), model.config
    tokens = [t for t in range(config.tgt_vocab_size) if t not in (config.pad_id, config.bos_id)]
    lengths = [*rng.integers(0, TGT_LEN, size=count - 1), TGT_LEN - 1]
    return [[config.bos_id, *rng.choice(tokens, size=n).tolist()] for n in lengths]


def readable_log_probabilities(
    model: Transformer, source: Sequence[int], target: Sequence[int]
) -> Tensor:
    """(target tokens, vocabulary), and cross-attention in the blocks' attention_scores."""
    src, tgt = torch.tensor([source]), torch.tensor([target])
    mask = decoder_mask(tgt, pad_id=-1)  # Marian's BOS token is its padding token
    with torch.inference_mode():
        return model(src, tgt, padding_mask(src, model.config.pad_id), mask)[0]


def native_log_probabilities(
    model: NativeModel, source: Sequence[int], target: Sequence[int]
) -> Floats:
    """(target tokens, vocabulary), all positions in one call."""
    rows = len(target)
    session = Session(model, max(rows, len(source)), 1, rows, max(1, len(source)))
    if source:
        session.read_sources([source])
    positions = np.arange(rows, dtype=np.int32)
    session.decode(np.array(target, np.int32), positions, np.zeros(rows, np.int32))
    return log_softmax(session.logits(rows))


def log_softmax(logits: Floats) -> Floats:
    return torch.from_numpy(logits.astype(np.float64)).log_softmax(dim=1).numpy()


@pytest.mark.parametrize("kind", TRANSLATORS)
def test_translators_give_the_log_probabilities_of_the_readable_model(
    kernels: str, kind: str
) -> None:
    model = translator(kind)
    native = native_model(model, kernels=kernels)
    for source, target in zip(random_sources(model, 7), random_targets(model, 7), strict=True):
        expected = readable_log_probabilities(model, source, target).numpy()
        found = native_log_probabilities(native, source, target)
        assert found.shape == (len(target), model.config.tgt_vocab_size)
        np.testing.assert_allclose(found, expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("kind", TRANSLATORS)
def test_forced_scores_are_the_log_probabilities_of_the_labels(kernels: str, kind: str) -> None:
    model = translator(kind)
    native = native_model(model, kernels=kernels)
    for source, target in zip(random_sources(model, 5), random_targets(model, 5), strict=True):
        labels = [*target[1:], model.config.eos_id]
        expected = readable_log_probabilities(model, source, target)
        expected = expected.gather(1, torch.tensor(labels)[:, None])[:, 0]
        found = forced_scores(native, source, target, labels)
        np.testing.assert_allclose(found, expected.numpy(), atol=1e-4, rtol=0)


@pytest.mark.parametrize("kind", TRANSLATORS)
def test_cross_attention_weights_are_those_of_the_readable_model(kernels: str, kind: str) -> None:
    model = translator(kind)
    native = native_model(model, kernels=kernels)
    blocks = list(cross_attention_blocks(model))
    for block in blocks:
        block.keep_attention_scores = True
    for source, target in zip(random_sources(model, 5), random_targets(model, 5), strict=True):
        readable_log_probabilities(model, source, target)
        expected = torch.cat([block.attention_scores for block in blocks])  # (layers, h, …)
        found = forced_attention(native, source, target)
        assert found.shape == (3, 3, len(target), len(source))
        np.testing.assert_allclose(found, expected.numpy(), atol=1e-5)
        np.testing.assert_allclose(found.sum(axis=3), 1.0, atol=1e-5)


def test_gpt_gives_the_log_probabilities_of_the_readable_model(kernels: str) -> None:
    model = gpt()
    native = native_model(model, kernels=kernels)
    for length in (1, 13, TGT_LEN):
        ids = torch.randint(TGT_VOCAB, (1, length), generator=torch.Generator().manual_seed(length))
        with torch.inference_mode():
            expected = model.project(model(ids))[0].numpy()
        found = native_log_probabilities(native, [], ids[0].tolist())
        np.testing.assert_allclose(found, expected, atol=1e-4, rtol=0)


def random_texts(vocab: int, first: int) -> list[Tensor]:
    """(1, length) ids from `first` on, of several lengths."""
    generator = torch.Generator().manual_seed(1)
    return [
        torch.randint(first, vocab, (1, length), generator=generator)
        for length in (5, 1, SRC_LEN, 12)
    ]


def test_bert_gives_the_log_probabilities_of_the_readable_model(kernels: str) -> None:
    model = bert()
    texts = random_texts(TGT_VOCAB, first=1)
    with torch.inference_mode():
        embedded = [model.embeddings(ids, torch.zeros_like(ids))[0].numpy() for ids in texts]
        found = hidden_states(native_model(model, kernels=kernels), embedded)
        for ids, hidden in zip(texts, found, strict=True):
            expected = model(ids)[0]
            assert_same_log_probabilities(model.heads["masked_lm"], hidden, expected)


def test_esm_gives_the_log_probabilities_of_the_readable_model(kernels: str) -> None:
    model = esm()
    texts = random_texts(model.config.vocab_size, first=2)
    with torch.inference_mode():
        masks = [torch.ones_like(ids, dtype=torch.bool)[:, None, None] for ids in texts]
        pairs = zip(texts, masks, strict=True)
        embedded = [model.embed(ids, mask)[0].numpy() for ids, mask in pairs]
        found = hidden_states(native_model(model, kernels=kernels), embedded)
        for ids, hidden in zip(texts, found, strict=True):
            expected = model(ids)[0]
            assert_same_log_probabilities(model.heads["masked_lm"], hidden, expected)


def assert_same_log_probabilities(
    head: torch.nn.Module, hidden: Floats, expected_hidden: Tensor
) -> None:
    """Both the hidden states and what a head makes of them."""
    assert hidden.shape == expected_hidden.shape
    np.testing.assert_allclose(hidden, expected_hidden.numpy(), atol=1e-4, rtol=0)
    found = head(torch.tensor(hidden)).log_softmax(dim=-1)
    expected = head(expected_hidden).log_softmax(dim=-1)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("d_model", [24, 64, 72])
def test_a_norm_of_vectors_far_from_zero_is_as_exact_as_the_blocks(
    d_model: int, kernels: str
) -> None:
    model = small(d_model=d_model)
    with torch.no_grad():
        for side in (model.src_embed, model.tgt_embed):
            side.embedding.weight.add_(300 / d_model**0.5)  # type: ignore[union-attr,operator]
    source, read, labels = [3, 4, 5, 6, 2], [1, 7, 8, 9], [7, 8, 9, 2]
    ours = forced_scores(native_model(model, kernels=kernels), source, read, labels)
    with torch.inference_mode():
        exact = model.double()(
            torch.tensor([source]), torch.tensor([read]), None, look_ahead_mask(4)
        )
    assert np.abs(ours - exact[0, range(4), labels].numpy()).max() < 5e-4
