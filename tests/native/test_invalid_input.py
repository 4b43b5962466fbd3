"""What cannot be computed is one line that says what is wrong and what to do."""

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from clearhead.decoding import DecodingOptions, Hypothesis, NativeEngine
from clearhead.errors import UserError
from clearhead.models.native import FAMILIES, Parts, native_model
from clearhead.models.transformer import Transformer
from clearhead.native.library import library
from clearhead.native.model import NativeModel
from clearhead.native.search import SearchOptions, search
from clearhead.native.session import Session, forced_scores, hidden_states
from clearhead.native.weights import Floats, ModelSizes, Tables
from tests.native.library import KERNELS
from tests.native.models import (
    SRC_LEN,
    SRC_VOCAB,
    TGT_LEN,
    TGT_VOCAB,
    bert,
    esm,
    gpt,
    translator,
)

GREEDY = SearchOptions(1, 1, 0, 1, False, True, 1.0)


def complains(call: Callable[[], object], *words: str) -> None:
    """The call raises a UserError of one line that holds these words."""
    with pytest.raises(UserError) as error:
        call()
    message = str(error.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def decode(
    native: NativeModel, sources: list[list[int]], options: DecodingOptions
) -> list[list[Hypothesis]]:
    return NativeEngine(translator().config, native, 1).decode(sources, options)


def parts() -> Parts:
    """Sizes, tensors and tables that belong together."""
    return FAMILIES[Transformer](translator())


NAMES = [
    "encoder.layers.1.self_attention_block.w_q.weight",
    "decoder.layers.2.cross_attention_block.w_v.weight",
    "decoder.layers.0.cross_attention_block.w_o.bias",
    "encoder.layers.0.feed_forward_block.linear_1.weight",
    "encoder.layers.0.feed_forward_block.linear_1.bias",
    "decoder.layers.1.feed_forward_block.linear_2.weight",
    "decoder.layers.1.residual_connections.2.norm.alpha",
    "decoder.norm.bias",
    "projection.weight",
    "projection.bias",
]


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("change", [-1, 1])
@pytest.mark.parametrize("name", NAMES)
def test_a_weight_whose_shape_contradicts_the_sizes(name: str, change: int, axis: int) -> None:
    sizes, tensors, tables = parts()
    old = tensors[name]
    length = old.shape[axis] + change
    other = old.take(np.arange(length) % old.shape[axis], axis=axis)
    complains(lambda: NativeModel(sizes, {**tensors, name: other}, tables), name, "shape")


@pytest.mark.parametrize("name", [f.name for f in dataclasses.fields(Tables)][:4])
def test_a_table_whose_shape_contradicts_the_sizes_or_is_missing(name: str) -> None:
    sizes, tensors, tables = parts()
    table: Floats = getattr(tables, name)
    for other in (table[:-1], table[:, :-1], np.concatenate([table, table[:1]])):
        wrong = replace(tables, **{name: other})
        complains(lambda wrong=wrong: NativeModel(sizes, tensors, wrong), name, "shape")
    none = replace(tables, **{name: None})
    complains(lambda: NativeModel(sizes, tensors, none), "lack", name)


def test_rotary_angles_for_too_few_positions() -> None:
    sizes, tensors, tables = FAMILIES[type(esm())](esm())
    assert tables.rotary is not None
    short = replace(tables, rotary=tables.rotary[:-1])
    complains(lambda: NativeModel(sizes, tensors, short), "rotary", "shape")


@pytest.mark.parametrize("name", NAMES)
def test_a_weight_that_is_missing(name: str) -> None:
    sizes, tensors, tables = parts()
    others = {key: value for key, value in tensors.items() if key != name}
    if name.endswith("bias") and "norm" not in name:  # a linear layer may have none
        NativeModel(sizes, others, tables)
    else:
        complains(lambda: NativeModel(sizes, others, tables), "lack", name)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", NAMES)
def test_a_weight_that_is_not_finite(name: str, value: float) -> None:
    sizes, tensors, tables = parts()
    damaged = tensors[name].copy()
    damaged.flat[-1] = value
    complains(lambda: NativeModel(sizes, {**tensors, name: damaged}, tables), name, "NaN")


@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("side", ["encoder", "decoder"])
@pytest.mark.parametrize("kernels", KERNELS)
def test_finite_weights_whose_output_is_not(kernels: str, side: str, int8: bool) -> None:
    model = translator()
    with torch.no_grad():
        for parameter in getattr(model, side).parameters():
            parameter *= 1e30
    native = native_model(model, int8, kernels)
    for beam_size in (1, 3):
        options = DecodingOptions(beam_size=beam_size)
        complains(lambda o=options: decode(native, [[5, 2]], o), "not finite")
    complains(lambda: forced_scores(native, [5, 2], [1, 9], [9, 2]), "not finite")


@pytest.mark.parametrize(
    "change",
    [
        {"h": 0}, {"h": 7}, {"d_model": 0}, {"d_model": 2**30}, {"d_ff": 2**28}, {"tgt_len": -1},
        {"activation": "cube"}, {"src_len": 2**32 + SRC_LEN}, {"encoder_layers": 5000},
    ],
    ids=str,
)  # fmt: skip
def test_sizes_of_no_model(change: dict[str, Any]) -> None:
    sizes, tensors, tables = parts()
    (name,) = change
    wrong = replace(sizes, **change)
    complains(lambda: NativeModel(wrong, tensors, tables), name, "sizes", "--engine readable")


def test_kernels_of_no_such_name() -> None:
    complains(lambda: native_model(translator(), kernels="SSE9"), "SSE9", KERNELS[0])


@pytest.mark.parametrize("bad", [-1, SRC_VOCAB, 2**31, 2**40, 2**70, -(2**31) - 1])
def test_source_ids_outside_the_vocabulary(bad: int) -> None:
    native = native_model(translator())
    complains(lambda: search(native, [[5, 2], [bad, 2]], [9, 9], GREEDY, 1), "source 1", str(bad))
    session = Session(native, 5, 1, TGT_LEN, SRC_LEN)
    complains(lambda: session.read_sources([[bad, 2]]), "source 0", str(bad))


@pytest.mark.parametrize("length", [0, SRC_LEN + 1])
def test_sources_that_are_empty_or_too_long(length: int) -> None:
    native, source = native_model(translator()), [7] * length
    words = ("source 1", f"{length} tokens", str(SRC_LEN))
    complains(lambda: search(native, [[5, 2], source], [9, 9], GREEDY, 2), *words)
    session = Session(native, 99, 2, TGT_LEN, SRC_LEN)
    complains(lambda: session.read_sources([[5, 2], source]), *words)


@pytest.mark.parametrize("limit", [0, -1, TGT_LEN + 1])
def test_limits_that_the_model_does_not_have(limit: int) -> None:
    native = native_model(translator())
    complains(lambda: search(native, [[5, 2]], [limit], GREEDY, 1), "limit")


def test_a_beam_of_a_million() -> None:
    native = native_model(translator())
    for n_best in (1, 1_000_000):
        options = replace(GREEDY, beam_size=1_000_000, n_best=n_best)
        complains(lambda o=options: search(native, [[5, 2]], [9], o, 1), "beam_size=1000000")


def test_options_larger_than_an_int32_forbid_as_much_as_they_say() -> None:
    native = native_model(translator())
    largest = DecodingOptions(beam_size=2, no_repeat_ngram=2**32 + 1, min_length=2**32)
    ((found,),) = decode(native, [[5, 6, 2]], largest)
    longest = DecodingOptions(beam_size=2, min_length=TGT_LEN)
    ((expected,),) = decode(native, [[5, 6, 2]], longest)
    assert dataclasses.astuple(found) == dataclasses.astuple(expected)
    assert len(found.ids) == TGT_LEN and not found.finished


def test_searches_with_models_that_do_not_translate() -> None:
    for model in (gpt(), bert()):
        native = native_model(model)
        complains(lambda n=native: search(n, [[5, 2]], [9], GREEDY, 1), "no source")


def ints(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values)


def test_a_session_refuses_tokens_positions_and_slots_out_of_range() -> None:
    native = native_model(translator())
    session = Session(native, 6, 2, 9, SRC_LEN)
    complains(lambda: session.decode(ints(5), ints(0), ints(0)), "text")  # it has no source
    session.read_sources([[5, 2]])
    complains(lambda: session.decode(ints(5), ints(0), ints(1)), "text")
    session.decode(ints(5), ints(0), ints(0))
    for token, position, slot in (
        (-1, 0, 0), (TGT_VOCAB, 0, 0), (2**32 + 5, 0, 0),
        (5, -1, 0), (5, 9, 0), (5, 2**32, 0), (5, 0, -1), (5, 0, 2), (5, 0, 2**32),
        (5, 2, 0),  # nothing is known of position 1
    ):  # fmt: skip
        arguments = ints(token), ints(position), ints(slot)
        with pytest.raises(UserError):
            session.decode(*arguments)
    complains(lambda: session.decode(ints(5, 6), ints(0), ints(0)), "2 tokens", "1 positions")
    complains(lambda: session.decode(ints(*[5] * 7), ints(*range(7)), ints(*[0] * 7)), "text")
    complains(lambda: session.read_sources([[5, 2]] * 3), "text")


def test_a_session_refuses_rows_and_labels_out_of_range() -> None:
    session = Session(native_model(gpt()), 6, 1, TGT_LEN)
    session.decode(ints(5, 6), ints(0, 1), ints(0, 0))
    for label in (-1, TGT_VOCAB, 2**32):
        complains(lambda wanted=label: session.log_probabilities(ints(wanted)), "id")
    for rows in (ints(6), ints(-1), ints(0, 0), ints(2**32)):
        with pytest.raises(UserError):
            session.keep(rows)
    for count in (0, 3, 7):  # the last call had two rows
        complains(lambda rows=count: session.logits(rows), "text")
    complains(lambda: session.likeliest(3), "text")
    session.keep(ints(1))
    complains(lambda: session.likeliest(2), "text")


def test_attention_weights_have_the_shape_of_the_only_slot() -> None:
    session = Session(native_model(translator()), 9, 2, TGT_LEN, SRC_LEN)
    session.read_sources([[5, 6, 2], [5, 2]])
    for shape, slots in (((3, 3, 2, 2), [0, 0]), ((3, 3, 2, 3), [0, 1]), ((3, 3, 1, 3), [0, 0])):
        capture = np.zeros(shape, np.float32)
        call = (ints(5, 6), ints(0, 1), ints(*slots), capture)
        complains(lambda arguments=call: session.decode(*arguments), "shape")


@pytest.mark.parametrize(
    ("rows", "slots", "tgt_len", "src_len"),
    [
        (0, 1, 5, 5), (5, 0, 5, 5), (5, 1, 0, 5), (5, 1, TGT_LEN + 1, 5), (5, 1, 5, SRC_LEN + 1),
        (5, 2**31 - 1, TGT_LEN, SRC_LEN), (-1, -1, -1, -1), (2**32 + 1, 1, 5, 5),
    ],
)  # fmt: skip
def test_sessions_of_impossible_sizes(rows: int, slots: int, tgt_len: int, src_len: int) -> None:
    native = native_model(translator())
    complains(lambda: Session(native, rows, slots, tgt_len, src_len), "positions")


def test_embeddings_of_another_width_length_or_number() -> None:
    native = native_model(bert())
    for shape in ((3, 59), (3, 61), (3,), (1, 3, 60)):
        complains(lambda s=shape: hidden_states(native, [np.ones(s, np.float32)]), "shape")
    for length in (0, SRC_LEN + 1):
        text = np.ones((length, 60), np.float32)
        complains(lambda t=text: hidden_states(native, [t]), "text")
    assert hidden_states(native, []) == []
    damaged = np.full((3, 60), np.nan, np.float32)
    complains(lambda: hidden_states(native, [damaged]), "not finite")


def test_a_missing_library_names_the_readable_engine(tmp_path: Path) -> None:
    complains(lambda: library(tmp_path / "_native.so"), "no compiled engine", "--engine readable")


def test_a_library_of_another_processor_names_the_readable_engine(tmp_path: Path) -> None:
    (tmp_path / "_native.so").write_bytes(b"\x7fELF of nothing")
    complains(lambda: library(tmp_path / "_native.so"), "no compiled engine", "--engine readable")


@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.deepcopy])
def test_packed_weights_belong_to_one_process(duplicate: Callable[[object], object]) -> None:
    model = translator()
    engine = NativeEngine(model.config, native_model(model))
    complains(lambda: duplicate(engine), "cannot be pickled or copied; load the model again")


def test_a_decoder_whose_logits_overflow_is_refused() -> None:
    model = translator("pre-norm")
    with torch.no_grad():
        model.projection_layer.proj.weight[7] = 3e38
    with pytest.raises(UserError, match="not finite"):
        NativeEngine(model.config, native_model(model), 1).decode(
            [[5, 2]], DecodingOptions(beam_size=2)
        )


def test_a_stack_without_layers_has_no_norm() -> None:
    sizes = ModelSizes(d_model=64, h=1, d_ff=64, src_len=5)
    given = np.random.default_rng(1).random((3, 64), np.float32)
    (found,) = hidden_states(NativeModel(sizes, {}, Tables()), [given])
    assert (found == given).all()


def test_one_table_for_two_sides_fits_both() -> None:
    words, places = np.ones((71, 64), np.float32), np.ones((5, 64), np.float32)
    sizes = ModelSizes(d_model=64, h=1, d_ff=64, src_vocab=71, tgt_vocab=133, src_len=5, tgt_len=5)
    with pytest.raises(UserError):
        NativeModel(sizes, {}, Tables(words, words, places, places))


def test_a_number_of_threads_that_is_none_is_refused() -> None:
    with pytest.raises(UserError, match="threads=-1"):
        NativeEngine(translator("pre-norm").config, native_model(translator("pre-norm")), -1)
