import torch
from hypothesis import given
from hypothesis import strategies as st

from clearhead.decoding.readable import batches_by_tokens, padded

LENGTHS = st.lists(st.integers(1, 60), max_size=40)


@given(LENGTHS, st.integers(1, 200))
def test_every_sentence_is_in_exactly_one_batch(lengths: list[int], batch_tokens: int) -> None:
    batches = list(batches_by_tokens(lengths, batch_tokens))
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))


@given(LENGTHS, st.integers(1, 200))
def test_a_padded_batch_keeps_to_its_budget_or_is_one_sentence(
    lengths: list[int], batch_tokens: int
) -> None:
    for batch in batches_by_tokens(lengths, batch_tokens):
        assert len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= batch_tokens


@given(st.lists(st.lists(st.integers(3, 9), min_size=1), min_size=1, max_size=9))
def test_padding_only_adds(sentences: list[list[int]]) -> None:
    rows = padded(sentences, 0, torch.device("cpu")).tolist()
    assert [[i for i in row if i] for row in rows] == sentences
