"""Each cell is measured: if the behaviour changes, the cell changes."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from clearhead.blocks import MultiHeadAttentionBlock
from clearhead.compare.keras_attention import (
    call_differences,
    report,
    weight_differences,
)
from clearhead.compare.keras_attention.difference import Difference
from clearhead.compare.keras_attention.report import compare_keras, show
from clearhead.compare.proofs import fixtures
from clearhead.compare.timing import keras_on
from tests.compare.keras_attention.installed import needs_keras

pytestmark = needs_keras
LIBRARIES = ("keras", "torch", "clearhead")


@pytest.fixture(autouse=True)
def keras() -> Iterator[Any]:
    torch.manual_seed(3)
    with keras_on("cpu") as package:
        yield package


def cells(row: Difference) -> tuple[str, str, str]:
    return row.keras, row.torch, row.clearhead


def test_every_row_is_a_difference_and_topics_are_unique(keras: Any) -> None:
    rows = list(report.differences())
    assert len({row.topic for row in rows}) == len(rows) > 15
    equal = [row.topic for row in rows if len(set(cells(row))) == 1]
    # This row shows how to make them equal.
    assert equal == [weight_differences.parameters_of_the_paper().topic]


def test_cells_do_not_depend_on_the_seed(keras: Any) -> None:
    found = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        rows = [row for row in report.differences() if "standard deviation" not in row.topic]
        found.append([cells(row) for row in rows if "float64" not in row.topic])
    assert found[0] == found[1]


def test_the_numbers_of_parameters_follow_the_formula(keras: Any) -> None:
    d, heads = weight_differences.WIDTH, weight_differences.HEADS
    grown = [4 * d * (h * d) + 3 * h * d + d for h in heads]
    paper = [4 * d * d + 4 * d] * len(heads)
    found = weight_differences.parameters_by_heads()
    assert found.keras == " → ".join(f"{count:,}" for count in grown)
    assert found.torch == found.clearhead == " → ".join(f"{count:,}" for count in paper)
    assert set(cells(weight_differences.parameters_of_the_paper())) == {found.torch}


def inverted_mask(
    self: MultiHeadAttentionBlock, q: Tensor, k: Tensor, v: Tensor, mask: Any
) -> Tensor:
    return FORWARD(self, q, k, v, None if mask is None else ~mask)


def without_dropout(self: MultiHeadAttentionBlock, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return FORWARD(self.eval(), q, k, v)


def swapped_arguments(self: MultiHeadAttentionBlock, q: Tensor, v: Tensor, k: Tensor) -> Tensor:
    return FORWARD(self, q, k, v)


def a_pair(self: MultiHeadAttentionBlock, q: Tensor, k: Tensor, v: Tensor) -> Any:
    return FORWARD(self, q, k, v), q


FORWARD = MultiHeadAttentionBlock.forward


@pytest.mark.parametrize(
    ("measure", "forward", "before", "after"),
    [
        (call_differences.polarity, inverted_mask, "visible", "hidden"),
        (call_differences.order_of_arguments, swapped_arguments, "q, k, v", "q, v, k"),
        (
            call_differences.returned,
            a_pair,
            "a tensor: (batch, query, d_model)",
            "a pair: (batch, query, d_model), (batch, query, d_model)",
        ),
    ],
)
def test_a_cell_changes_with_our_block(
    measure: Callable[[], Difference],
    forward: Callable[..., Any],
    before: str,
    after: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert measure().clearhead == before
    monkeypatch.setattr(MultiHeadAttentionBlock, "forward", forward)
    assert measure().clearhead == after


def test_a_cell_changes_with_dropout(keras: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call_differences.dropout().clearhead == "dropout is required, on until eval()"
    monkeypatch.setattr(MultiHeadAttentionBlock, "forward", without_dropout)
    assert call_differences.dropout().clearhead.endswith("off until training=True")


def test_a_cell_changes_with_torch(keras: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert call_differences.order_of_axes().torch == "(seq, batch, d_model)"
    init = nn.MultiheadAttention.__init__

    def batch_first(self: Any, width: int, heads: int, bias: bool = False) -> None:
        init(self, width, heads, batch_first=True)

    monkeypatch.setattr(nn.MultiheadAttention, "__init__", batch_first)
    assert call_differences.order_of_axes().torch == "(batch, seq, d_model)"
    assert weight_differences.bias().torch == "bias=False, zeros"


def test_a_cell_changes_with_keras(keras: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert weight_differences.layout().keras == "(d_model, h, d_k), (h, d_k, d_model)"
    assert call_differences.fully_masked().clearhead == "0"
    build = keras.layers.MultiHeadAttention.build

    def with_nonzero_bias(self: Any, *shapes: Any) -> None:
        build(self, *shapes)
        self.query_dense.bias.assign(self.query_dense.bias + 1)

    assert weight_differences.bias().keras == "use_bias=True, zeros"
    monkeypatch.setattr(keras.layers.MultiHeadAttention, "build", with_nonzero_bias)
    assert weight_differences.bias().keras == "use_bias=True, random numbers"


def test_all_formats_have_the_same_content(monkeypatch: pytest.MonkeyPatch) -> None:
    # `test_proofs` checks all masks.
    monkeypatch.setattr(fixtures, "MASKS", {"both": fixtures.MASKS["both"]})
    before = torch.get_rng_state()
    found = compare_keras()
    assert torch.equal(before, torch.get_rng_state())
    text, page, record = show(found, "text"), show(found, "md"), json.loads(show(found, "json"))
    assert all(proof["met"] for proof in record["proofs"])
    assert set(record["versions"]) == {"keras", "torch"}
    for row in record["differences"]:
        assert row.keys() == {"topic", "so", *LIBRARIES}
        assert all(value and value in text and value in page for value in row.values())
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    assert len(rows) == len(record["differences"]) + len(record["proofs"]) + 2
