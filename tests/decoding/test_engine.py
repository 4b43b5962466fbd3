from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch

from clearhead.blocks import READABLE, FeedForwardBlock
from clearhead.decoding import DecodingOptions, Engine, Hypothesis, decode
from clearhead.decoding.precision import Precision, fastest_precision, say_if_widened
from clearhead.errors import UserError
from clearhead.fast.fused_decoder import FusedDecoder
from clearhead.fast.incremental import IncrementalDecoder
from clearhead.models import Transformer
from tests.decoding.tiny import VARIANTS, make_model, random_sources

MODEL = make_model()
OPTIONS = [DecodingOptions(beam_size=1), DecodingOptions(beam_size=3, n_best=2)]


def same(found: Sequence[list[Hypothesis]], expected: Sequence[list[Hypothesis]]) -> None:
    for some, others in zip(found, expected, strict=True):
        assert [(h.ids, h.finished) for h in some] == [(h.ids, h.finished) for h in others]
        for one, other in zip(some, others, strict=True):
            assert one.score == pytest.approx(other.score, abs=1e-4, rel=1e-5)


@pytest.mark.parametrize(("norm", "tie"), VARIANTS)
@pytest.mark.parametrize("options", OPTIONS)
def test_the_fused_engine_finds_what_the_readable_one_finds(
    norm: str, tie: bool, options: DecodingOptions
) -> None:
    model = make_model(norm, tie)
    sources = random_sources(model, 11)
    fused = Engine.of(model)
    assert isinstance(fused.decoder, FusedDecoder)
    same(decode(fused, sources, options), decode(Engine.readable(model), sources, options))


def test_a_large_vocabulary_is_searched_by_blocks_with_the_same_result() -> None:
    model = make_model(vocab=1024)
    sources = random_sources(model, 5)
    for options in OPTIONS:
        found = decode(model, sources, options)
        blocks = decode(replace(Engine.of(model), logits=odd_logits(model)), sources, options)
        same(found, blocks)


def odd_logits(model: Transformer):  # type: ignore[no-untyped-def]
    """One word more, which never comes: 1,025 numbers cannot be cut into blocks of 64."""
    never = torch.tensor([-1e4])
    return lambda x: torch.cat([model.projection_layer.logits(x), never.expand(len(x), 1)], dim=1)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("places", [1, 3, 7])
def test_refilled_places_change_nothing(options: DecodingOptions, places: int) -> None:
    sources = random_sources(MODEL, 25)
    refilled = replace(options, batch_sentences=places)
    expected = decode(MODEL, sources, replace(refilled, refill=False))
    same(decode(MODEL, sources, refilled), expected)


def test_a_block_of_somebody_else_is_the_one_that_runs() -> None:
    calls = []

    class OwnFeedForward(FeedForwardBlock):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            calls.append(x.shape)
            return super().forward(x)

    model = Transformer.from_config(
        MODEL.config, replace(READABLE, feed_forward=OwnFeedForward)
    ).eval()
    model.load_state_dict(MODEL.state_dict())
    sources = random_sources(MODEL, 5)
    assert isinstance(Engine.of(model).decoder, IncrementalDecoder)
    same(decode(model, sources), decode(MODEL, sources))
    assert calls


def test_weights_are_prepared_once_and_again_when_they_change() -> None:
    model = make_model()
    sources = random_sources(model, 5)
    engine = Engine.of(model)
    assert Engine.of(model) is engine
    before = decode(model, sources)
    with torch.no_grad():
        model.projection_layer.proj.bias[5] += 30.0
    assert Engine.of(model) is not engine
    assert decode(model, sources) != before
    same(decode(model, sources), decode(Engine.readable(model), sources))


def test_threads_decode_side_by_side() -> None:
    sources = random_sources(MODEL, 8)
    alone = [decode(MODEL, [source])[0] for source in sources]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda source: decode(MODEL, [source])[0], sources))
    same(together, alone)


@pytest.mark.parametrize("precision", ["bfloat16", "int8"])
@pytest.mark.parametrize("options", OPTIONS)
def test_fewer_bits_score_nearly_alike(precision: str, options: DecodingOptions) -> None:
    """What is found in fewer bits has, in full precision, nearly the score it was found with."""
    sources = random_sources(MODEL, 12)
    few = decode(Engine.of(MODEL, precision), sources, options)  # type: ignore[arg-type]
    full = decode(MODEL, sources, options)
    for some, others in zip(few, full, strict=True):
        for one, other in zip(some, others, strict=True):
            if one.ids == other.ids:
                assert one.score == pytest.approx(other.score, abs=0.5, rel=0.05)


@pytest.mark.parametrize("precision", ["bfloat16", "int8"])
def test_the_company_changes_nothing_in_fewer_bits(precision: str) -> None:
    sources = random_sources(MODEL, 9)
    engine = Engine.of(MODEL, precision)  # type: ignore[arg-type]
    together = decode(engine, sources, OPTIONS[0])
    same(together, [decode(engine, [source], OPTIONS[0])[0] for source in sources])


def test_a_precision_that_cannot_be_is_refused() -> None:
    with pytest.raises(UserError, match="precision 'int4' is unknown"):
        Engine.of(MODEL, "int4")  # type: ignore[arg-type]
    watched = make_model()
    watched.decoder.layers[0].self_attention_block.keep_attention_scores = True
    with pytest.raises(UserError, match="library's own blocks"):
        Engine.of(watched, "int8")


def test_auto_says_why() -> None:
    precision, why = fastest_precision(torch.device("cpu"))
    assert isinstance(Engine.of(MODEL, precision).decoder, FusedDecoder)
    assert "this processor" in why


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
@pytest.mark.parametrize("able", [True, False])
def test_short_numbers_that_bring_nothing_are_remarked_upon(
    precision: Precision,
    able: bool,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in (VNNI, BF16):
        monkeypatch.setattr(torch.cpu, name, lambda: able, raising=False)
    say_if_widened(precision, torch.device("cpu"))
    said = f"this processor does not multiply {precision} natively"
    assert (said in caplog.text) == (not able and precision != "float32")


VNNI, BF16, AMX = "_is_vnni_supported", "_is_avx512_bf16_supported", "_is_amx_tile_supported"


@pytest.mark.parametrize(
    ("abilities", "many", "few"),
    [
        (set(), "float32", "float32"),
        ({BF16}, "bfloat16", "bfloat16"),
        ({VNNI, BF16}, "int8", "int8"),
        ({VNNI, BF16, AMX}, "bfloat16", "int8"),
    ],
)
def test_auto_is_what_the_processor_is_made_for(
    abilities: set[str], many: str, few: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (VNNI, BF16, AMX):
        has = name in abilities
        monkeypatch.setattr(torch.cpu, name, lambda has=has: has, raising=False)
    cpu = torch.device("cpu")
    assert fastest_precision(cpu)[0] == many
    assert fastest_precision(cpu, few_rows=True)[0] == few
