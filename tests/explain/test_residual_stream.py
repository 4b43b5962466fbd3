"""The logit lens at the last layer is the model's own output."""

from dataclasses import replace

import torch

from clearhead.explain.attention import sentence_pair
from clearhead.explain.interpretability import logit_lens
from tests.explain import tiny


def test_the_lens_at_the_last_layer_is_the_output() -> None:
    translator = tiny.translator()
    pair = sentence_pair(translator, tiny.SOURCE, tiny.TARGET)
    lens = logit_lens(translator.model, pair)
    with torch.inference_mode():
        output = translator.model(*pair.tensors(translator.model))
    assert torch.equal(lens.log_probabilities[-1], output[0])


def test_there_is_one_prediction_before_the_first_layer_and_one_after_each() -> None:
    translator = tiny.translator()
    pair = sentence_pair(translator, tiny.SOURCE, tiny.TARGET)
    lens = logit_lens(translator.model, pair)
    length, vocab = len(pair.written), translator.model.config.tgt_vocab_size
    assert lens.log_probabilities.shape == (tiny.DECODER_LAYERS + 1, length, vocab)
    total = lens.log_probabilities.exp().sum(-1)
    torch.testing.assert_close(total, torch.ones_like(total))


def test_rank_zero_is_the_most_likely_token() -> None:
    translator = tiny.translator()
    lens = logit_lens(translator.model, sentence_pair(translator, tiny.SOURCE, tiny.TARGET))
    lens = replace(lens, written=tuple(lens.best()[-1].tolist()))
    ranks = lens.rank_of_written()
    assert torch.equal(ranks == 0, lens.best() == torch.tensor(lens.written))
    assert not ranks[-1].any()
    assert ranks[0].any()
