"""Decoding position by position gives what one call with all positions gives."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhead.errors import UserError
from clearhead.models.gpt import Gpt
from clearhead.models.native import FAMILIES, native_model
from clearhead.native.model import NativeModel
from clearhead.native.session import Session
from clearhead.native.weights import Floats
from tests.native.library import KERNELS
from tests.native.models import (
    SRC_LEN,
    TGT_LEN,
    TGT_VOCAB,
    gpt,
    in_float16,
    random_sources,
    translator,
)

KINDS = ["pre-norm", "post-norm", "Marian", "GPT-2"]


def make(kind: str, int8: bool = False, kernels: str = "") -> NativeModel:
    return native_model(gpt() if kind == "GPT-2" else translator(kind), int8, kernels)


def integers(values: object) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.array(values, np.int32)


def new_session(model: NativeModel, slots: int) -> Session:
    """With another source in each slot, if the model reads one."""
    rows = slots * max(TGT_LEN, SRC_LEN)
    if not model.sizes.cross:
        return Session(model, rows, slots, TGT_LEN)
    session = Session(model, rows, slots, TGT_LEN, SRC_LEN)
    session.read_sources(random_sources(translator(), slots))
    return session


def random_tokens(slots: int, length: int) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    return np.random.default_rng(5).integers(0, TGT_VOCAB, (slots, length)).astype(np.int32)


def all_at_once(
    model: NativeModel, tokens: np.ndarray[tuple[int, int], np.dtype[np.int32]]
) -> Floats:
    """(slots, positions, vocabulary)"""
    slots, length = tokens.shape
    session = new_session(model, slots)
    slot, position = np.divmod(np.arange(slots * length, dtype=np.int32), np.int32(length))
    session.decode(tokens.ravel(), position, slot)
    return session.logits(slots * length).reshape(slots, length, -1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("kernels", KERNELS)
def test_one_position_at_a_time_equals_all_positions_at_once(
    kernels: str, int8: bool, kind: str
) -> None:
    model, slots, length = make(kind, int8, kernels), 2, 19
    tokens = random_tokens(slots, length)
    expected = all_at_once(model, tokens)
    session = new_session(model, slots)
    for position in range(length):
        session.decode(tokens[:, position], integers([position] * slots), integers(range(slots)))
        np.testing.assert_array_equal(session.logits(slots), expected[:, position])


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=15)
@given(cuts=st.sets(st.integers(1, TGT_LEN - 1)))
def test_any_division_into_calls_gives_the_same_logits(kind: str, cuts: set[int]) -> None:
    model = make(kind)
    tokens = random_tokens(3, TGT_LEN)
    expected = all_at_once(model, tokens)[1]
    session = new_session(model, 3)
    ends = [*sorted(cuts), TGT_LEN]
    for begin, end in zip([0, *ends], ends, strict=False):
        positions = np.arange(begin, end, dtype=np.int32)
        session.decode(tokens[1, begin:end], positions, integers([1] * len(positions)))
        np.testing.assert_array_equal(session.logits(len(positions)), expected[begin:end])


@pytest.mark.parametrize("kind", KINDS)
def test_a_slot_is_reused_from_any_position(kind: str) -> None:
    """Whoever rejects the last tokens decodes others at their positions."""
    model = make(kind)
    tokens, others = random_tokens(1, 12), random_tokens(1, 24)[:, 12:]
    session = new_session(model, 1)
    positions = np.arange(12, dtype=np.int32)
    session.decode(tokens[0], positions, np.zeros(12, np.int32))
    session.decode(others[0, 5:], positions[5:], np.zeros(7, np.int32))
    both = np.concatenate([tokens[:, :5], others[:, 5:]], axis=1)
    np.testing.assert_array_equal(session.logits(7), all_at_once(model, both)[0, 5:])


@pytest.mark.parametrize("kind", KINDS)
def test_kept_rows_give_their_own_logits(kind: str) -> None:
    model = make(kind)
    tokens = random_tokens(3, 7)
    expected = all_at_once(model, tokens).reshape(21, -1)
    session = new_session(model, 3)
    slot, position = np.divmod(np.arange(21, dtype=np.int32), np.int32(7))
    session.decode(tokens.ravel(), position, slot)
    kept = [0, 6, 7, 20]
    session.keep(integers(kept))
    np.testing.assert_array_equal(session.logits(4), expected[kept])


def writable(model: NativeModel, logits: Floats) -> Floats:
    """The logits, -inf for the tokens that no text holds."""
    sizes = model.sizes
    never = {sizes.pad_id} | ({sizes.bos_id} - {sizes.eos_id})
    allowed = logits.copy()
    allowed[:, sorted(never)] = -np.inf
    return allowed


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("kind", KINDS)
def test_likeliest_tokens_and_log_probabilities_follow_from_the_logits(
    kernels: str, kind: str
) -> None:
    model = make(kind, kernels=kernels)
    tokens, wanted = random_tokens(2, 6), random_tokens(1, 12)[0]
    session = new_session(model, 2)
    slot, position = np.divmod(np.arange(12, dtype=np.int32), np.int32(6))
    session.decode(tokens.ravel(), position, slot)
    logits = session.logits(12).astype(np.float64)
    np.testing.assert_array_equal(session.likeliest(12), writable(model, logits).argmax(axis=1))
    largest = logits.max(axis=1, keepdims=True)
    log_sum = largest[:, 0] + np.log(np.exp(logits - largest).sum(axis=1))
    expected = logits[np.arange(12), wanted] - log_sum
    np.testing.assert_allclose(session.log_probabilities(wanted), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("noise", "scale"),
    [(0.01, 0.0), (1.0, 0.0), (0.01, 1e-3), (0.01, 1.0), (0.01, 1e9), (1.0, 1e30)],
)
@pytest.mark.parametrize("precision", ["float32", "float16", "int8"])
@pytest.mark.parametrize("kernels", KERNELS)
def test_the_likeliest_token_of_a_large_vocabulary_has_the_largest_logit(
    kernels: str, precision: str, noise: float, scale: float
) -> None:
    """Products of 8 bits, for a few rows of an int8 model 4, exclude most of the vocabulary."""
    random, vocabulary = np.random.default_rng(3), 1003
    sizes, tensors, tables = FAMILIES[Gpt](gpt())
    sizes = replace(sizes, tgt_vocab=vocabulary)
    # Logits differ by less than the error of an 8-bit product, or with more noise of a 4-bit one.
    shape = vocabulary, sizes.d_model
    same, others = random.normal(size=sizes.d_model), random.normal(size=shape)
    weight = (same + noise * others).astype(np.float32)
    weight[::7] *= 0.01  # rows of very different length
    weight[700:] = weight[: vocabulary - 700]  # and equal ones
    bias = (scale * random.normal(size=vocabulary)).astype(np.float32)
    tensors = {**tensors, "projection.weight": weight, "projection.bias": bias}
    tables = replace(tables, tgt_embedding=weight.copy())
    parts = sizes, tensors, tables
    half, int8 = precision == "float16", precision == "int8"
    model = NativeModel(*(in_float16(parts) if half else parts), int8=int8, kernels=kernels)
    rows = 30
    session = Session(model, rows, 1, TGT_LEN)
    positions = np.arange(rows, dtype=np.int32)
    tokens = random.integers(0, vocabulary, rows).astype(np.int32)
    session.decode(tokens, positions, np.zeros_like(positions))
    logits = session.logits(rows)
    likeliest = session.likeliest(rows)
    expected = writable(model, logits).max(axis=1)
    np.testing.assert_array_equal(logits[positions, likeliest], expected)
    for first in range(0, rows, 2):
        session.decode(tokens[first:][:2], positions[first:][:2], np.zeros(2, np.int32))
        np.testing.assert_array_equal(session.likeliest(2), likeliest[first:][:2])
        np.testing.assert_array_equal(session.likeliest(1), likeliest[first:][:1])


def test_a_refused_call_leaves_no_position_behind() -> None:
    session = new_session(make("pre-norm"), 2)
    for tokens, positions, slots in (([TGT_VOCAB], [0], [0]), ([5, 6], [0, 2], [0, 0])):
        with pytest.raises(UserError):
            session.decode(integers(tokens), integers(positions), integers(slots))
        with pytest.raises(UserError):  # the position before it is still unknown
            session.decode(integers([5]), integers([1]), integers([0]))
