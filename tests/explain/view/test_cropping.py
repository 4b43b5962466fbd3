"""Padding that nobody looks at is cut off; rows go on summing to 1."""

import logging

import pytest
import torch

from clearhead.explain.attention_map import AttentionMap
from clearhead.explain.view.cropping import crop


def masked(visible: list[int], words: list[str]) -> AttentionMap:
    scores = torch.rand(1, 3, len(words), len(words), generator=torch.Generator().manual_seed(1))
    mask = torch.zeros(len(words), dtype=torch.bool)
    mask[visible] = True
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    return AttentionMap.of("self", [weights, weights], words, words)


def test_padding_behind_the_words_is_cut_off() -> None:
    shown = crop(masked([0, 1, 2], ["[CLS]", "dog", "[SEP]", "[PAD]", "[PAD]"]))
    assert shown.queries == shown.keys == ("[CLS]", "dog", "[SEP]")
    assert shown.weights.shape == (2, 3, 3, 3)
    assert shown.weights.sum(-1) == pytest.approx(1)


def test_padding_before_the_words_is_cut_off() -> None:
    shown = crop(masked([2, 3], ["<pad>", "<pad>", "dog", "s"]))
    assert shown.keys == ("dog", "s")
    assert shown.weights.sum(-1) == pytest.approx(1)


def test_the_begin_sign_of_marian_stays() -> None:
    words = ["<pad>", "Un", "chien"]
    assert crop(masked([0, 1, 2], words)).keys == tuple(words)


def test_padding_that_is_looked_at_stays_and_is_said(caplog: pytest.LogCaptureFixture) -> None:
    words = ["dog", "[PAD]", "[PAD]"]
    with caplog.at_level(logging.WARNING):
        shown = crop(masked([0, 1, 2], words))
    assert shown.keys == tuple(words)
    assert "give the model its attention_mask" in caplog.text
    assert shown.weights.sum(-1) == pytest.approx(1)


def test_queries_and_keys_of_cross_attention_are_cut_apart() -> None:
    weights = torch.zeros(1, 2, 3, 4)
    weights[..., :2] = 0.5
    shown = AttentionMap.of("cross", [weights], ["a", "b", "<pad>"], ["x", "y", "<pad>", "<pad>"])
    cropped = crop(shown)
    assert (cropped.queries, cropped.keys) == (("a", "b"), ("x", "y"))
