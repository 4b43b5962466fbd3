import itertools
import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from clearhead.decoding import DecodingOptions, Hypothesis, decode, readable
from clearhead.decoding.engine import normalize
from clearhead.errors import UserError
from clearhead.models import Transformer
from tests.decoding.tiny import VARIANTS, make_model, random_sources, teacher_forced, true_score

MODEL = make_model()
OPTIONS = [DecodingOptions(beam_size=1), DecodingOptions(beam_size=3, n_best=3)]


def written(hypothesis: Hypothesis, model: Transformer = MODEL) -> list[int]:
    return hypothesis.ids + [model.config.eos_id] * hypothesis.finished


@pytest.mark.parametrize(("norm", "tie"), VARIANTS)
@pytest.mark.parametrize("options", OPTIONS)
def test_scores_are_the_true_log_probabilities(
    norm: str, tie: bool, options: DecodingOptions
) -> None:
    model = make_model(norm, tie)
    sources = random_sources(model, 6)
    for source, best in zip(sources, decode(model, sources, options), strict=True):
        for hypothesis in best:
            expected = true_score(model, source, written(hypothesis))
            assert hypothesis.score == pytest.approx(expected, abs=1e-4, rel=1e-5)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_batch_equals_single_and_order_is_restored(norm: str, options: DecodingOptions) -> None:
    model = make_model(norm)
    sources = random_sources(model, 12)
    together = decode(model, sources, options)
    assert [len(best) for best in together] == [options.n_best] * 12
    for source, best in zip(sources, together, strict=True):
        (alone,) = decode(model, [source], options)
        assert [h.ids for h in best] == [h.ids for h in alone]
        for one, other in zip(best, alone, strict=True):
            assert one.score == pytest.approx(other.score, abs=1e-4, rel=1e-5)


@settings(max_examples=8)
@given(st.integers(1, 200))
def test_the_size_of_batches_changes_nothing(batch_tokens: int) -> None:
    sources = random_sources(MODEL, 9)
    options = DecodingOptions(beam_size=2, batch_tokens=batch_tokens, max_length=9)
    expected = decode(MODEL, sources, DecodingOptions(beam_size=2, max_length=9))
    found = decode(MODEL, sources, options)
    assert [best[0].ids for best in found] == [best[0].ids for best in expected]


@pytest.mark.parametrize("seed", range(5))
def test_greedy_takes_the_likeliest_token_at_every_step(seed: int) -> None:
    model = make_model(seed=seed)
    (source,) = random_sources(model, 1, seed)
    ((hypothesis,),) = decode(model, [source], DecodingOptions(beam_size=1, min_length=0))
    tokens = written(hypothesis, model)
    steps = teacher_forced(model, source, tokens)
    steps[:, [model.config.pad_id, model.config.bos_id]] = -torch.inf
    assert steps.argmax(dim=1).tolist() == tokens


@pytest.mark.parametrize("options", OPTIONS)
def test_a_bos_token_that_is_the_eos_token_ends_a_sentence(options: DecodingOptions) -> None:
    model = make_model()
    model.config = replace(model.config, bos_id=model.config.eos_id)
    sources = random_sources(model, 6)
    found = decode(model, sources, options)
    assert any(best[0].finished for best in found)
    for source, (hypothesis, *_) in zip(sources, found, strict=True):
        expected = true_score(model, source, written(hypothesis, model))
        assert hypothesis.score == pytest.approx(expected, abs=1e-4, rel=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_beam_search_with_one_beam_is_greedy(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beam search proper, which `decode` would not use for one beam; it stops at the first end."""
    model = make_model(seed=seed)
    sources = random_sources(model, 8)
    options = DecodingOptions(beam_size=1, early_stopping=True)
    greedy = decode(model, sources, options)
    monkeypatch.setattr(readable, "greedy_search", readable.beam_search)
    beam = decode(model, sources, options)
    for (one,), (other,) in zip(greedy, beam, strict=True):
        assert (one.ids, one.finished) == (other.ids, other.finished)
        assert one.score == pytest.approx(other.score, abs=1e-4)


@pytest.mark.parametrize("alpha", [-1.0, 0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_beam_that_holds_everything_is_exhaustive_search(alpha: float, seed: int) -> None:
    longest, n_best = 4, 7
    model = make_model(vocab=6, seed=seed)  # three words and the three signs
    (source,) = random_sources(model, 1, seed + 1)
    every = [
        list(words)
        for length in range(longest)
        for words in itertools.product([3, 4, 5], repeat=length)
    ]
    ranked = sorted(
        (normalize(true_score(model, source, [*ids, 2]), len(ids) + 1, alpha), ids) for ids in every
    )[::-1]
    options = DecodingOptions(
        beam_size=4**longest,
        n_best=n_best,
        length_penalty=alpha,
        max_length=longest,
        min_length=0,
    )
    ((*found,),) = decode(model, [source], options)
    assert [h.ids for h in found] == [ids for _, ids in ranked[:n_best]]
    assert [h.normalized for h in found] == pytest.approx(
        [score for score, _ in ranked[:n_best]], abs=1e-4
    )


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_a_larger_beam_never_stops_with_something_it_could_still_beat(alpha: float) -> None:
    """Stopping early and never stopping find the same best translation."""
    sources = random_sources(MODEL, 10)
    options = DecodingOptions(beam_size=4, length_penalty=alpha)
    found = decode(MODEL, sources, options)
    patient = decode(MODEL, sources, DecodingOptions(beam_size=4, length_penalty=alpha, n_best=4))
    assert [best[0].ids for best in found] == [best[0].ids for best in patient]


@pytest.mark.parametrize("options", OPTIONS)
def test_pad_and_begin_sign_are_never_written(options: DecodingOptions) -> None:
    model = make_model()
    with torch.no_grad():
        model.projection_layer.proj.bias[:2] += 20.0  # both by far the likeliest
    for best in decode(model, random_sources(model, 6), options):
        for hypothesis in best:
            assert not {0, 1, 2} & set(hypothesis.ids)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("beam_size", [1, 3])
def test_no_ngram_comes_twice(n: int, beam_size: int) -> None:
    options = DecodingOptions(beam_size=beam_size, n_best=beam_size, no_repeat_ngram=n)
    for best in decode(MODEL, random_sources(MODEL, 8), options):
        for hypothesis in best:
            grams = list(zip(*(hypothesis.ids[i:] for i in range(n)), strict=False))
            assert len(grams) == len(set(grams))


@pytest.mark.parametrize("beam_size", [1, 3])
def test_where_every_word_is_used_up_the_end_sign_is_free(beam_size: int) -> None:
    model = make_model(vocab=6)
    options = DecodingOptions(beam_size=beam_size, no_repeat_ngram=1, min_length=9, max_length=12)
    for best in decode(model, random_sources(model, 5), options):
        assert sorted(best[0].ids) == [3, 4, 5]
        assert best[0].finished


@pytest.mark.parametrize("beam_size", [1, 3])
@settings(max_examples=8)
@given(least=st.integers(0, 6), room=st.integers(1, 6))
def test_lengths_are_honoured(beam_size: int, least: int, room: int) -> None:
    options = DecodingOptions(
        beam_size=beam_size, n_best=beam_size, min_length=least, max_length=least + room
    )
    for best in decode(MODEL, random_sources(MODEL, 4), options):
        for hypothesis in best:
            assert len(hypothesis.ids) >= least
            assert len(written(hypothesis)) <= least + room
            assert hypothesis.finished or len(hypothesis.ids) == least + room


def test_the_positions_of_the_model_are_the_last_limit() -> None:
    model = make_model()
    with torch.no_grad():
        model.projection_layer.proj.bias[2] -= 50.0  # never ends
    for beam_size in (1, 3):
        options = DecodingOptions(beam_size=beam_size, max_length=1000)
        for best in decode(model, random_sources(model, 3), options):
            assert len(best[0].ids) == model.config.tgt_seq_len
            assert not best[0].finished


def test_the_finished_come_before_the_unfinished_and_each_kind_is_sorted() -> None:
    options = DecodingOptions(beam_size=5, n_best=5, max_length=7)
    kinds = set()
    for best in decode(MODEL, random_sources(MODEL, 20), options):
        assert best == sorted(best, key=lambda h: h.rank, reverse=True)
        kinds |= {h.finished for h in best}
    assert kinds == {True, False}


def test_without_scores_the_translations_are_the_same() -> None:
    sources = random_sources(MODEL, 5)
    with_scores = decode(MODEL, sources, DecodingOptions(beam_size=1))
    without = decode(MODEL, sources, DecodingOptions(beam_size=1, scores=False))
    assert [b[0].ids for b in with_scores] == [b[0].ids for b in without]


def test_a_model_in_training_translates_without_dropout_and_goes_back_to_training() -> None:
    sources = random_sources(MODEL, 5)
    expected = decode(MODEL, sources)
    MODEL.train()
    try:
        assert decode(MODEL, sources) == expected
        assert MODEL.training
    finally:
        MODEL.eval()


def test_a_part_in_eval_mode_stays_in_it_while_the_others_go_back_to_training() -> None:
    model = make_model()
    model.train().encoder.eval()
    before = {name: module.training for name, module in model.named_modules()}
    decode(model, random_sources(model, 3))
    assert {name: module.training for name, module in model.named_modules()} == before


def test_no_sources_no_translations() -> None:
    assert decode(MODEL, []) == []


def test_a_source_without_room_is_refused_with_both_numbers() -> None:
    with pytest.raises(UserError, match=r"source 1 has 18 tokens.*src_seq_len=17"):
        decode(MODEL, [[2], [5] * 17 + [2]])
    with pytest.raises(UserError, match="source 0 is empty"):
        decode(MODEL, [[]])


def test_a_model_of_nan_is_refused() -> None:
    model = make_model()
    with torch.no_grad():
        model.src_embed.embedding.weight.fill_(math.nan)
    with pytest.raises(UserError, match="not finite"):
        decode(model, [[5, 2]])


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_decoder_of_nan_is_refused(beam_size: int) -> None:
    model = make_model()
    with torch.no_grad():
        model.projection_layer.proj.bias[7] = math.nan
    with pytest.raises(UserError, match="the decoder's output is not finite"):
        decode(model, [[5, 2]], DecodingOptions(beam_size=beam_size))
