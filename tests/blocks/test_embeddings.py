"""Rows of the table times the root of the width; ids outside it named."""

import math

import pytest
import torch

from clearhead.blocks import InputEmbeddings
from clearhead.errors import UserError


def test_an_embedding_is_its_row_times_the_root_of_the_width() -> None:
    embed = InputEmbeddings(16, 9)
    ids = torch.tensor([[3, 8, 0], [1, 1, 2]])
    assert torch.equal(embed(ids), embed.embedding.weight[ids] * math.sqrt(16))


def test_only_the_rows_that_were_read_learn() -> None:
    embed = InputEmbeddings(4, 9)
    embed(torch.tensor([[3, 3, 8]])).sum().backward()
    assert embed.embedding.weight.grad is not None
    rows = embed.embedding.weight.grad[:, 0]
    assert rows.tolist() == [0, 0, 0, 4, 0, 0, 0, 0, 2]  # sqrt(4) a time


@pytest.mark.parametrize("wrong", [9, 58100, -1])
def test_an_id_outside_the_vocabulary_is_named_with_its_bounds(wrong: int) -> None:
    embed = InputEmbeddings(4, 9)
    with pytest.raises(UserError, match=rf"token id {wrong} .* 9 tokens \(0 to 8\)"):
        embed(torch.tensor([[3, wrong, 0]]))


def test_an_empty_batch_passes() -> None:
    assert InputEmbeddings(4, 9)(torch.zeros(0, 5, dtype=torch.long)).shape == (0, 5, 4)
