"""What must hold for any Transformer, whatever its weights and its sentences.

Everything is computed in float64, so a law that fails by rounding fails by 1e-12.
"""

import functools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from clearhead.blocks import MultiHeadAttentionBlock, decoder_mask, padding_mask, shift_right
from clearhead.models import Transformer, TransformerConfig

PAD, BOS, EOS, VOCABULARY, LONGEST = 0, 1, 2, 11, 9
words = st.integers(EOS + 1, VOCABULARY - 1)
sentence = st.lists(words, min_size=1, max_size=6)
both_norms = pytest.mark.parametrize("norm", ["pre", "post"])
few = settings(max_examples=40)


@functools.cache
def model(norm: str) -> Transformer:
    torch.manual_seed(7)
    config = TransformerConfig(
        VOCABULARY, VOCABULARY, LONGEST, LONGEST, d_model=12, encoder_layers=2,
        decoder_layers=3, h=3, d_ff=17, dropout=0.3, norm=norm,
    )  # fmt: skip
    made = Transformer.from_config(config).double().eval()
    for parameter in made.parameters():  # no ones, no zeros: nothing may hide behind them
        torch.nn.init.normal_(parameter, mean=0.1, std=0.5)
    return made


def batch_of(sentences: list[list[int]], extra: int = 0) -> Tensor:
    length = max(map(len, sentences)) + extra
    return torch.tensor([s + [PAD] * (length - len(s)) for s in sentences])


def log_probabilities(norm: str, src: Tensor, tgt: Tensor) -> Tensor:
    return model(norm)(src, tgt, padding_mask(src, PAD), decoder_mask(tgt, PAD))


def assert_equal(x: Tensor, y: Tensor) -> None:
    torch.testing.assert_close(x, y, atol=1e-11, rtol=1e-11)


@both_norms
@few
@given(sentence, sentence, sentence, st.data())
def test_the_future_does_not_change_the_past(
    norm: str, source: list[int], said: list[int], other: list[int], data: st.DataObject
) -> None:
    keep = data.draw(st.integers(0, len(said) - 1))
    changed = (said[:keep] + other + said)[: len(said)]
    src = batch_of([source])
    past = log_probabilities(norm, src, torch.tensor([said]))[:, :keep]
    same = log_probabilities(norm, src, torch.tensor([changed]))[:, :keep]
    assert torch.equal(past, same)  # to the last bit: what is hidden has weight 0


@both_norms
@few
@given(sentence, sentence, words)
def test_a_longer_target_continues_a_shorter_one(
    norm: str, source: list[int], said: list[int], next_word: int
) -> None:
    src = batch_of([source])
    short = log_probabilities(norm, src, torch.tensor([said]))
    longer = log_probabilities(norm, src, torch.tensor([[*said, next_word]]))
    assert_equal(longer[:, :-1], short)


@both_norms
@few
@given(sentence, sentence, st.integers(1, 3), st.integers(1, 3))
def test_the_length_of_the_filling_does_not_matter(
    norm: str, source: list[int], said: list[int], more: int, still_more: int
) -> None:
    plain = log_probabilities(norm, batch_of([source]), batch_of([said]))
    padded = log_probabilities(norm, batch_of([source], more), batch_of([said], still_more))
    assert_equal(padded[:, : len(said)], plain)


@both_norms
@few
@given(st.lists(st.tuples(sentence, sentence), min_size=2, max_size=4))
def test_a_sentence_in_a_batch_is_a_sentence_alone(
    norm: str, pairs: list[tuple[list[int], list[int]]]
) -> None:
    sources, targets = (list(side) for side in zip(*pairs, strict=True))
    together = log_probabilities(norm, batch_of(sources), batch_of(targets))
    for row, (source, said) in zip(together, pairs, strict=True):
        alone = log_probabilities(norm, batch_of([source]), batch_of([said]))
        assert_equal(row[: len(said)], alone[0])


@both_norms
@few
@given(sentence, st.randoms(use_true_random=False))
def test_without_positions_an_encoder_does_not_know_the_order(
    norm: str, source: list[int], dice
) -> None:
    order = list(range(len(source)))
    dice.shuffle(order)
    network = model(norm)
    x = network.src_embed(torch.tensor([source]))
    assert_equal(network.encoder(x[:, order], None), network.encoder(x, None)[:, order])


def test_with_positions_an_encoder_knows_the_order() -> None:
    a, b = (model("pre").encode(torch.tensor([ids])) for ids in ([3, 4], [4, 3]))
    assert (a - b.flip(1)).abs().max() > 1e-3


@both_norms
@few
@given(sentence, sentence)
def test_what_is_hidden_has_no_weight_and_the_rest_sums_to_one(
    norm: str, source: list[int], said: list[int]
) -> None:
    network = model(norm)
    blocks = [m for m in network.modules() if isinstance(m, MultiHeadAttentionBlock)]
    for block in blocks:
        block.keep_attention_scores = True
    src, tgt = batch_of([source, [EOS]]), batch_of([said, [BOS]])
    log_probabilities(norm, src, tgt)
    for block in blocks:
        block.keep_attention_scores = False
        weights = block.attention_scores
        assert weights is not None and (weights >= 0).all()
        assert_equal(weights.sum(-1), torch.ones(weights.shape[:-1], dtype=torch.float64))
    for layer in network.decoder.layers:
        seen = layer.cross_attention_block.attention_scores.amax(dim=(1, 2))
        assert torch.equal(seen > 0, src != PAD)
        future = layer.self_attention_block.attention_scores.triu(1)
        assert not future.any()


@both_norms
def test_a_batch_with_an_empty_sentence_stays_finite_with_its_gradients(norm: str) -> None:
    network = model(norm)
    src, labels = torch.tensor([[5, 6, EOS], [PAD] * 3]), torch.tensor([[7, EOS], [PAD] * 2])
    tgt = shift_right(labels, BOS)
    tgt[1] = PAD
    network(src, tgt, padding_mask(src, PAD), decoder_mask(tgt, PAD)).sum().backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), name
    network.zero_grad()


@both_norms
def test_a_translation_depends_on_its_source(norm: str) -> None:
    tgt = torch.tensor([[BOS, 5]])
    one, other = (log_probabilities(norm, torch.tensor([ids]), tgt) for ids in ([3, EOS], [4, EOS]))
    assert (one - other).abs().max() > 1e-3


def test_dropout_is_silent_in_eval_and_awake_in_training() -> None:
    src, tgt = torch.tensor([[3, 4, EOS]]), torch.tensor([[BOS, 5]])
    network = model("pre")
    assert torch.equal(log_probabilities("pre", src, tgt), log_probabilities("pre", src, tgt))
    network.train()
    try:
        assert not torch.equal(
            log_probabilities("pre", src, tgt), log_probabilities("pre", src, tgt)
        )
    finally:
        network.eval()


def test_end_to_end_a_small_model_learns_to_copy() -> None:
    torch.manual_seed(3)
    config = TransformerConfig(
        VOCABULARY, VOCABULARY, LONGEST, LONGEST, d_model=32, encoder_layers=1,
        decoder_layers=1, h=2, d_ff=64, dropout=0.0, tie_embeddings=True,
    )  # fmt: skip
    network = Transformer.from_config(config)
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    loss = torch.tensor(0.0)
    for _ in range(150):
        src = torch.randint(EOS + 1, VOCABULARY, (32, 4))
        tgt = shift_right(src, BOS)
        scores = network(src, tgt, padding_mask(src, PAD), decoder_mask(tgt, PAD))
        loss = torch.nn.functional.nll_loss(scores.flatten(0, 1), src.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.1  # guessing among 8 words costs 2.08
