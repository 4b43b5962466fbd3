"""Each cell is what happened when it was tried: change what happens, and the cell changes."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from clearhead.blocks import MultiHeadAttentionBlock
from clearhead.compare.keras_attention import calls_differ, masks_differ, report, weights_differ
from clearhead.compare.keras_attention.difference import Difference
from clearhead.compare.keras_attention.loading import keras_on
from clearhead.compare.keras_attention.report import compare_keras, show
from clearhead.compare.proofs import keras as proofs
from tests.compare.keras_attention.installed import needs_keras

pytestmark = needs_keras
HOUSES = ("keras", "torch", "clearhead")


@pytest.fixture(autouse=True)
def keras() -> Iterator[Any]:
    torch.manual_seed(3)
    with keras_on("cpu") as package:
        yield package


def cells(row: Difference) -> tuple[str, str, str]:
    return row.keras, row.torch, row.clearhead


def test_every_row_is_a_difference_and_every_topic_new(keras: Any) -> None:
    rows = list(report.differences(keras))
    assert len({row.topic for row in rows}) == len(rows) > 15
    alike = [row.topic for row in rows if len(set(cells(row))) == 1]
    # The one row that shows how to make them alike.
    assert alike == [weights_differ.parameters_of_the_paper(keras).topic]


def test_other_random_numbers_tell_the_same_story(keras: Any) -> None:
    stories = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        rows = [row for row in report.differences(keras) if "spread" not in row.topic]
        stories.append([cells(row) for row in rows if "float64" not in row.topic])
    assert stories[0] == stories[1]


def test_the_parameters_are_those_of_the_formula(keras: Any) -> None:
    d, heads = weights_differ.WIDTH, weights_differ.HEADS
    grown = [4 * d * (h * d) + 3 * h * d + d for h in heads]
    paper = [4 * d * d + 4 * d] * len(heads)
    found = weights_differ.parameters_as_heads_grow(keras)
    assert found.keras == " → ".join(f"{count:,}" for count in grown)
    assert found.torch == found.clearhead == " → ".join(f"{count:,}" for count in paper)
    assert set(cells(weights_differ.parameters_of_the_paper(keras))) == {found.torch}


def other_mask(self: MultiHeadAttentionBlock, q: Tensor, k: Tensor, v: Tensor, mask: Any) -> Tensor:
    return FORWARD(self, q, k, v, None if mask is None else ~mask)


def drops_never(self: MultiHeadAttentionBlock, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return FORWARD(self.eval(), q, k, v)


def swapped(self: MultiHeadAttentionBlock, q: Tensor, v: Tensor, k: Tensor) -> Tensor:
    return FORWARD(self, q, k, v)


def a_pair(self: MultiHeadAttentionBlock, q: Tensor, k: Tensor, v: Tensor) -> Any:
    return FORWARD(self, q, k, v), q


FORWARD = MultiHeadAttentionBlock.forward


@pytest.mark.parametrize(
    ("tried", "forward", "before", "after"),
    [
        (masks_differ.polarity, other_mask, "may look", "is hidden"),
        (calls_differ.order_of_arguments, swapped, "q, k, v", "q, v, k"),
        (
            calls_differ.returned,
            a_pair,
            "a tensor: (batch, query, d_model)",
            "a pair: (batch, query, d_model), (batch, query, d_model)",
        ),
    ],
)
def test_a_cell_follows_what_our_block_does(
    tried: Callable[[], Difference],
    forward: Callable[..., Any],
    before: str,
    after: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert tried().clearhead == before
    monkeypatch.setattr(MultiHeadAttentionBlock, "forward", forward)
    assert tried().clearhead == after


def test_a_cell_follows_what_dropout_does(keras: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert calls_differ.dropout(keras).clearhead == "dropout is required, drops until eval()"
    monkeypatch.setattr(MultiHeadAttentionBlock, "forward", drops_never)
    assert calls_differ.dropout(keras).clearhead.endswith("rests until training=True")


def test_a_cell_follows_what_torch_does(keras: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert calls_differ.order_of_axes(keras).torch == "(seq, batch, d_model)"
    init = nn.MultiheadAttention.__init__

    def batch_first(self: Any, width: int, heads: int, bias: bool = False) -> None:
        init(self, width, heads, batch_first=True)

    monkeypatch.setattr(nn.MultiheadAttention, "__init__", batch_first)
    assert calls_differ.order_of_axes(keras).torch == "(batch, seq, d_model)"
    assert weights_differ.bias(keras).torch == "bias=False, zeros"


def test_a_cell_follows_what_keras_does(keras: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert weights_differ.layout().keras == "(d_model, h, d_k), (h, d_k, d_model)"
    assert masks_differ.nothing_to_look_at().clearhead == "0"
    build = keras.layers.MultiHeadAttention.build

    def with_loud_bias(self: Any, *shapes: Any) -> None:
        build(self, *shapes)
        self.query_dense.bias.assign(self.query_dense.bias + 1)

    assert weights_differ.bias(keras).keras == "use_bias=True, zeros"
    monkeypatch.setattr(keras.layers.MultiHeadAttention, "build", with_loud_bias)
    assert weights_differ.bias(keras).keras == "use_bias=True, random numbers"


def test_the_three_forms_tell_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proofs, "MASKS", {"both": proofs.MASKS["both"]})  # all of them: test_proofs
    before = torch.get_rng_state()
    found = compare_keras()
    assert torch.equal(before, torch.get_rng_state())
    text, page, record = show(found, "text"), show(found, "md"), json.loads(show(found, "json"))
    assert all(proof["met"] for proof in record["proofs"])
    assert set(record["versions"]) == {"keras", "torch"}
    for row in record["differences"]:
        assert row.keys() == {"topic", "so", *HOUSES}
        assert all(value and value in text and value in page for value in row.values())
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    assert len(rows) == len(record["differences"]) + len(record["proofs"]) + 2
