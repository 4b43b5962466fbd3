"""Decoding with a key-value cache gives what decoding the whole prefix gives."""

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from clearhead.blocks import (
    READABLE,
    ActivatedFeedForwardBlock,
    BiasedLayerNormalization,
    Decoder,
    DecoderBlock,
    FeedForwardBlock,
    InputEmbeddings,
    LayerNormalization,
    LearnedPositions,
    MultiHeadAttentionBlock,
    PlainEmbeddings,
    PositionalEncoding,
    ResidualConnection,
    decoder_mask,
    padding_mask,
)
from clearhead.decoding import DecodingOptions, decode
from clearhead.decoding.steps import CachedSteps, Steps, UncachedSteps, begin, report_no_cache
from clearhead.errors import UserError
from clearhead.fast import accelerate
from clearhead.fast.accelerate import ON_GPU
from clearhead.models import Transformer
from clearhead.models.adapting import Adaptation, adapt
from tests.decoding.tiny import VARIANTS, make_marian, make_model, random_sources, talkative

SENTENCES, STEPS = 4, 21
OPTIONS = [DecodingOptions(beam_size=1), DecodingOptions(beam_size=3, n_best=2)]


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(20170612)
    report_no_cache.cache_clear()


def sources(model: Transformer) -> Tensor:
    src = torch.randint(3, model.config.src_vocab_size - 1, (SENTENCES, 7))
    src[1, 4:] = src[3, 2:] = model.config.pad_id
    return src


def targets(model: Transformer, rows: int) -> Tensor:
    tgt = torch.randint(3, model.config.tgt_vocab_size - 1, (rows, STEPS))
    tgt[:, 0] = model.config.bos_id
    return tgt


@torch.no_grad()
def at_once(model: Transformer, src: Tensor, tgt: Tensor) -> Tensor:
    """(rows, STEPS, vocab) log-probabilities; the BOS token may be the padding token."""
    src_mask = padding_mask(src, model.config.pad_id)
    never = model.config.tgt_vocab_size  # no id of the target is padding
    memory = model.encode(src, src_mask)
    return model.project(model.decode(memory, src_mask, tgt, decoder_mask(tgt, never)))


@torch.no_grad()
def one_by_one(steps: Steps, tgt: Tensor) -> Tensor:
    return torch.stack([steps.step(ids) for ids in tgt.unbind(1)], dim=1)


def assert_close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("kind", [CachedSteps, UncachedSteps])
@pytest.mark.parametrize(("norm", "tie"), VARIANTS)
@torch.no_grad()
def test_each_step_equals_the_forward_pass_of_all_positions(
    kind: type[CachedSteps], norm: str, tie: bool
) -> None:
    model = make_model(norm, tie)
    src, tgt = sources(model), targets(model, SENTENCES)
    assert_close(one_by_one(kind(model, src), tgt), at_once(model, src, tgt))


@torch.no_grad()
def test_marian_and_a_model_with_the_parts_of_a_gpu_are_cached_as_well() -> None:
    for model in (make_marian(), accelerate(make_model(), ON_GPU)):
        src, tgt = sources(model), targets(model, SENTENCES)
        steps = begin(model, src)
        assert isinstance(steps, CachedSteps)
        assert_close(one_by_one(steps, tgt), at_once(model, src, tgt))


@pytest.mark.parametrize("kind", [CachedSteps, UncachedSteps])
@torch.no_grad()
def test_a_reordered_row_continues_the_row_it_was_given(kind: type[CachedSteps]) -> None:
    model, beams = make_model(), 2
    src, tgt = sources(model), targets(model, SENTENCES * beams)
    rows = torch.tensor([1, 1, 2, 3, 5, 4, 6, 6])
    mixed = torch.cat([tgt[rows, :5], tgt[:, 5:]], dim=1)
    steps = kind(model, src)
    steps.keep(torch.arange(SENTENCES).repeat_interleave(beams))
    one_by_one(steps, tgt[:, :5])
    steps.reorder(rows)
    expected = at_once(model, src.repeat_interleave(beams, 0), mixed)
    assert_close(one_by_one(steps, mixed[:, 5:]), expected[:, 5:])


@pytest.mark.parametrize("kind", [CachedSteps, UncachedSteps])
@torch.no_grad()
def test_rows_that_stay_do_not_depend_on_rows_that_leave(kind: type[CachedSteps]) -> None:
    model = make_model()
    src, tgt = sources(model), targets(model, SENTENCES)
    steps, staying = kind(model, src), torch.tensor([2, 0])
    one_by_one(steps, tgt[:, :3])
    steps.keep(staying)
    expected = at_once(model, src, tgt)
    assert_close(one_by_one(steps, tgt[staying, 3:]), expected[staying, 3:])


@torch.no_grad()
def test_the_copy_shares_every_parameter_and_leaves_the_model_as_it_was() -> None:
    model = make_model()
    children = {name: id(child) for name, child in model.named_modules()}
    steps = CachedSteps(model, sources(model))
    one_by_one(steps, targets(model, SENTENCES))
    assert {name: id(child) for name, child in model.named_modules()} == children
    shared = {p.data_ptr() for p in model.parameters()}
    assert {p.data_ptr() for p in steps.model.parameters()} == shared


@torch.no_grad()
def test_a_position_beyond_the_last_is_refused() -> None:
    model = make_model()
    steps, ids = CachedSteps(model, sources(model)), torch.full((SENTENCES,), 5)
    for _ in range(model.config.tgt_seq_len):
        steps.step(ids)
    with pytest.raises(UserError, match="30 positions but seq_len=29"):
        steps.step(ids)


class OwnFeedForward(FeedForwardBlock):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x)


class NamedFeedForward(FeedForwardBlock):
    """Overrides no method."""


class SlowAttention(MultiHeadAttentionBlock):
    """Calls w_k and w_v twice, which a cache would not survive."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
        self.w_k(k), self.w_v(v)
        return super().forward(q, k, v, mask)


class OwnPositions(PositionalEncoding):
    """As the sources write it: without a start."""

    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return super().forward(x)


class OwnDecoderBlock(DecoderBlock):
    def forward(self, *inputs: Tensor | None) -> Tensor:  # type: ignore[override]
        return super().forward(*inputs)  # type: ignore[arg-type]


class OwnDecoder(Decoder):
    def forward(self, *inputs: Tensor | None) -> Tensor:  # type: ignore[override]
        return super().forward(*inputs)  # type: ignore[arg-type]


def with_own_part(name: str) -> Transformer:
    parts = {
        "feed_forward": replace(READABLE, feed_forward=OwnFeedForward),
        "named": replace(READABLE, feed_forward=NamedFeedForward),
        "attention": replace(READABLE, attention=SlowAttention),
        "positions": replace(READABLE, positions=OwnPositions),
    }
    torch.manual_seed(1)
    model = Transformer.from_config(make_model().config, parts.get(name, READABLE)).eval()
    if name == "decoder":
        model.decoder.__class__ = OwnDecoder
    if name == "decoder_block":
        model.decoder.layers[-1].__class__ = OwnDecoderBlock
    if name == "instance":
        layer = model.decoder.layers[0]
        layer.forward = partial(DecoderBlock.forward, layer)
    model.load_state_dict(make_model().state_dict())
    return model


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize(
    "part",
    ["feed_forward", "named", "attention", "positions", "decoder", "decoder_block", "instance"],
)
def test_a_model_with_a_part_of_a_user_finds_the_same(part: str, options: DecodingOptions) -> None:
    model, plain = with_own_part(part), make_model()
    texts = random_sources(plain, 5)
    cached = isinstance(begin(model, torch.tensor([[5, 2]])), CachedSteps)
    assert cached == (part == "named")
    found, expected = decode(model, texts, options), decode(plain, texts, options)
    assert [[h.ids for h in best] for best in found] == [[h.ids for h in b] for b in expected]


class Distant(MultiHeadAttentionBlock):
    """Attention whose scores fall with the distance of the positions (ALiBi, Press et al. 2021)."""

    @staticmethod
    def attention(*inputs: Any) -> tuple[Tensor, Tensor]:
        query, key, value, mask, _ = inputs
        distance = torch.arange(query.shape[-2])[:, None] - torch.arange(key.shape[-2])
        scores = query @ key.transpose(-2, -1) - distance.abs()
        weights = scores.masked_fill(~torch.as_tensor(mask), -1e9).softmax(-1)
        return weights @ value, weights


class Counted(MultiHeadAttentionBlock):
    def split_heads(self, x: Tensor) -> Tensor:
        return super().split_heads(running_mean(x))


class Convolved(FeedForwardBlock):
    def __init__(self, d_model: int, d_ff: int, dropout: float) -> None:
        super().__init__(d_model, d_ff, dropout)
        self.before = nn.Conv1d(d_model, d_model, 3)

    def forward(self, x: Tensor) -> Tensor:
        padded = nn.functional.pad(x.transpose(1, 2), (2, 0))
        return super().forward(self.before(padded).transpose(1, 2))


class MeanNorm(LayerNormalization):
    @staticmethod
    def normalize(x: Tensor, alpha: Tensor, bias: Tensor, eps: float) -> Tensor:
        return LayerNormalization.normalize(running_mean(x), alpha, bias, eps)


class MeanResidual(ResidualConnection):
    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return super().forward(running_mean(x), sublayer)


class MeanEmbeddings(InputEmbeddings):
    def forward(self, x: Tensor) -> Tensor:
        return running_mean(super().forward(x))


def running_mean(x: Tensor) -> Tensor:
    """The mean of each position and those before it."""
    return x.cumsum(dim=1) / torch.arange(1, x.shape[1] + 1)[:, None]


CAUSAL = {
    "attention": replace(READABLE, attention=Distant),
    "split_heads": replace(READABLE, attention=Counted),
    "feed_forward": replace(READABLE, feed_forward=Convolved),
    "normalize": replace(READABLE, normalization=MeanNorm),
    "residual": replace(READABLE, residual=MeanResidual),
    "embeddings": replace(READABLE, embeddings=MeanEmbeddings),
}


@pytest.mark.parametrize("part", CAUSAL)
@torch.no_grad()
def test_a_part_that_looks_back_gives_what_its_forward_gives_for_all_positions(part: str) -> None:
    model = talkative(Transformer.from_config(make_model().config, CAUSAL[part]))
    src, tgt = sources(model), targets(model, SENTENCES)
    assert_close(one_by_one(begin(model, src), tgt), at_once(model, src, tgt))


@torch.no_grad()
def test_a_model_whose_own_decode_was_replaced_is_decoded_by_it() -> None:
    model = make_model()
    src, tgt = sources(model), targets(model, SENTENCES)
    original = model.decode
    model.decode = lambda *inputs: running_mean(original(*inputs))  # type: ignore[method-assign]
    assert_close(one_by_one(begin(model, src), tgt), at_once(model, src, tgt))


POSITION_WISE = {
    "gelu": replace(
        READABLE, feed_forward=partial(ActivatedFeedForwardBlock, activation=nn.GELU())
    ),
    "norm": replace(READABLE, normalization=BiasedLayerNormalization),
    "embeddings": replace(READABLE, embeddings=PlainEmbeddings),
    "positions": replace(READABLE, positions=LearnedPositions),
    "torch": replace(READABLE, normalization=nn.LayerNorm),
}


@pytest.mark.parametrize("part", POSITION_WISE)
@torch.no_grad()
def test_variants_and_adapters_keep_the_cache(part: str) -> None:
    model = Transformer.from_config(make_model().config, POSITION_WISE[part])
    model = talkative(adapt(accelerate(model), Adaptation(rank=2)))
    src, tgt = sources(model), targets(model, SENTENCES)
    steps = begin(model, src)
    assert isinstance(steps, CachedSteps)
    assert_close(one_by_one(steps, tgt), at_once(model, src, tgt))


def test_decoding_without_a_cache_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    model = with_own_part("attention")
    with caplog.at_level(logging.WARNING):
        for source in random_sources(model, 3):
            decode(model, [source])
    (message,) = caplog.messages
    assert message.startswith("SlowAttention has its own formula")


@torch.no_grad()
def test_a_hook_on_a_block_sees_every_step() -> None:
    model, seen = make_model(), []
    block: nn.Module = model.decoder.layers[1].cross_attention_block
    handle = block.register_forward_hook(lambda *call: seen.append(call[2].shape))
    steps = CachedSteps(model, sources(model))
    one_by_one(steps, targets(model, SENTENCES)[:, :6])
    handle.remove()
    assert seen == [(SENTENCES, 1, model.config.d_model)] * 6


HOOKED = ["decoder.layers.1.feed_forward_block", "decoder.norm", "tgt_embed.embedding", "tgt_pos"]


def blended(block: nn.Module, inputs: object, output: Tensor) -> Tensor:
    return running_mean(output)


@pytest.mark.parametrize("path", HOOKED)
@torch.no_grad()
def test_a_hook_that_looks_back_gives_what_it_gives_for_all_positions(path: str) -> None:
    model = make_model()
    model.get_submodule(path).register_forward_hook(blended)
    src, tgt = sources(model), targets(model, SENTENCES)
    assert_close(one_by_one(begin(model, src), tgt), at_once(model, src, tgt))


@torch.no_grad()
def test_a_hook_before_a_part_gives_what_it_gives_for_all_positions() -> None:
    model = make_model()
    block = model.decoder.layers[2].self_attention_block
    block.register_forward_pre_hook(lambda _, inputs: (*map(running_mean, inputs[:3]), inputs[3]))
    src, tgt = sources(model), targets(model, SENTENCES)
    assert_close(one_by_one(begin(model, src), tgt), at_once(model, src, tgt))


def test_hooks_on_the_encoder_and_the_projection_keep_the_cache() -> None:
    model = make_model()
    for part in (model.encoder.layers[0], model.projection_layer):
        part.register_forward_hook(lambda *_: None)
    assert isinstance(begin(model, sources(model)), CachedSteps)


@pytest.mark.filterwarnings("ignore:Using `torch.compile")  # hooks that another test left
def test_a_model_with_compiled_layers_translates_as_before(
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = make_model().eval()
    ids = sources(model).tolist()
    expected = decode(model, ids, OPTIONS[1])
    compiled = [torch.compile(layer, backend="eager") for layer in model.decoder.layers]
    model.decoder.layers = nn.ModuleList(compiled)
    found = decode(model, ids, OPTIONS[1])
    assert [[h.ids for h in best] for best in found] == [[h.ids for h in best] for best in expected]
    assert caplog.messages[0].startswith("OptimizedModule has its own formula or a hook")
