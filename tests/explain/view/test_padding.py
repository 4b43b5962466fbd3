"""Padding without weight is removed, and every row still sums to 1."""

import logging

import pytest
import torch

from clearhead.explain.attention import AttentionMap
from clearhead.explain.view.bertviz import without_padding


def masked(visible: list[int], words: list[str]) -> AttentionMap:
    scores = torch.rand(1, 3, len(words), len(words), generator=torch.Generator().manual_seed(1))
    mask = torch.zeros(len(words), dtype=torch.bool)
    mask[visible] = True
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    return AttentionMap.of("self", [weights, weights], words, words)


def test_padding_after_the_tokens_is_removed() -> None:
    shown = without_padding(masked([0, 1, 2], ["[CLS]", "dog", "[SEP]", "[PAD]", "[PAD]"]))
    assert shown.queries == shown.keys == ("[CLS]", "dog", "[SEP]")
    assert shown.weights.shape == (2, 3, 3, 3)
    assert shown.weights.sum(-1) == pytest.approx(1)


def test_padding_before_the_tokens_is_removed() -> None:
    shown = without_padding(masked([2, 3], ["<pad>", "<pad>", "dog", "s"]))
    assert shown.keys == ("dog", "s")
    assert shown.weights.sum(-1) == pytest.approx(1)


def test_the_bos_token_of_marian_is_kept() -> None:
    words = ["<pad>", "Un", "chien"]
    assert without_padding(masked([0, 1, 2], words)).keys == tuple(words)


def test_padding_that_receives_weight_is_kept_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    words = ["dog", "[PAD]", "[PAD]"]
    with caplog.at_level(logging.WARNING):
        shown = without_padding(masked([0, 1, 2], words))
    assert shown.keys == tuple(words)
    assert "give the model its attention_mask" in caplog.text
    assert shown.weights.sum(-1) == pytest.approx(1)


def test_queries_and_keys_of_cross_attention_lose_their_own_padding() -> None:
    weights = torch.zeros(1, 2, 3, 4)
    weights[..., :2] = 0.5
    shown = AttentionMap.of("cross", [weights], ["a", "b", "<pad>"], ["x", "y", "<pad>", "<pad>"])
    trimmed = without_padding(shown)
    assert (trimmed.queries, trimmed.keys) == (("a", "b"), ("x", "y"))


def test_a_map_without_tokens_is_no_error() -> None:
    empty = AttentionMap.of("self", [torch.zeros(1, 2, 0, 0)], [], [])
    assert without_padding(empty).queries == ()
