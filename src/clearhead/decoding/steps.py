"""The decoder one position at a time, with the keys and values of earlier positions remembered."""

import copy
import inspect
import logging
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple, Protocol, TypeVar, cast

import torch
from torch import Tensor, nn

from clearhead import blocks
from clearhead.errors import UserError
from clearhead.fast.accelerate import is_fast
from clearhead.fast.dropout import CheapDropout
from clearhead.models import Transformer

Module = TypeVar("Module", bound=nn.Module)
SELF, CROSS = "self_attention_block", "cross_attention_block"

# Parts that compute each position from that position alone, and attention, which calls w_k and w_v
# once each. Whether a method written by a user does so is not known.
PARTS = (
    blocks.Decoder, blocks.DecoderBlock, blocks.Encoder, blocks.EncoderBlock,
    blocks.MultiHeadAttentionBlock, blocks.FeedForwardBlock, blocks.ActivatedFeedForwardBlock,
    blocks.ResidualConnection, blocks.PostNormResidualConnection, blocks.LayerNormalization,
    blocks.BiasedLayerNormalization, blocks.InputEmbeddings, blocks.PlainEmbeddings,
    blocks.LowRankLinear, CheapDropout, nn.Dropout, nn.Embedding, nn.GELU, nn.Identity,
    nn.LayerNorm, nn.Linear, nn.ModuleList, nn.ReLU, nn.Sequential, nn.SiLU,
)  # fmt: skip
METHODS = ("forward", "attention", "split_heads", "join_heads", "normalize")
CACHEABLE = {getattr(part, name, None) for part in PARTS for name in METHODS}
logger = logging.getLogger(__name__)


class RememberingProjection(nn.Module):
    """A projection whose outputs are kept for later steps."""

    outputs: Tensor | None  # (rows, positions, d_model)

    def __init__(self, projection: nn.Module) -> None:
        super().__init__()
        self.projection = projection
        self.outputs = None

    def select(self, rows: Tensor) -> None:
        """Row i becomes what row rows[i] is."""
        if self.outputs is not None:
            self.outputs = self.outputs.index_select(0, rows)


class GrowingProjection(RememberingProjection):
    """``w_k`` or ``w_v`` of self-attention: projects new positions and returns all so far.

    Shape:
        x: (rows, new, d_model) -> (rows, earlier + new, d_model)
    """

    def forward(self, x: Tensor) -> Tensor:
        """Append the outputs of the new positions to those of the earlier ones."""
        new = self.projection(x)
        self.outputs = new if self.outputs is None else torch.cat([self.outputs, new], dim=1)
        return self.outputs


class ConstantProjection(RememberingProjection):
    """``w_k`` or ``w_v`` of cross-attention: projects the encoder output at the first call only.

    Shape:
        x: (rows, src_len, d_model), the same at every call -> (rows, src_len, d_model)
    """

    def forward(self, x: Tensor) -> Tensor:
        """The output of the first call."""
        if self.outputs is None:
            self.outputs = self.projection(x)
        return self.outputs


class ContinuedPositions(nn.Module):
    """A positional module that is called with parts of a sequence, one after the other.

    Shape:
        x: (rows, new, d_model) -> the same
    """

    def __init__(self, positions: nn.Module) -> None:
        super().__init__()
        self.positions = positions
        self.length = 0

    def forward(self, x: Tensor) -> Tensor:
        """The positions that follow those of the last call."""
        start, self.length = self.length, self.length + x.shape[1]
        return self.positions(x, start)


class Cache(NamedTuple):
    """The projections of a copied decoder that remember their outputs."""

    growing: list[RememberingProjection]
    constant: list[RememberingProjection]

    def reorder(self, rows: Tensor) -> None:
        """Row i continues what row rows[i] has written, from the same source sentence."""
        for projection in self.growing:
            projection.select(rows)

    def keep(self, rows: Tensor) -> None:
        """Row i continues row rows[i] with its source sentence; the others are dropped."""
        for projection in (*self.growing, *self.constant):
            projection.select(rows)


def uncacheable_part(
    decoder: nn.Module, embeddings: nn.Module, positions: nn.Module
) -> nn.Module | None:
    """The first part with a hook or a method, of its class or its own, that a cache may break."""
    for part in (*decoder.modules(), *embeddings.modules()):
        methods = [method(part, name) for name in METHODS]
        if has_hooks(part) or not all(one in CACHEABLE or is_fast(one) for one in methods):
            return part
    starts = "start" in inspect.signature(positions.forward).parameters
    return None if starts and not any(map(has_hooks, positions.modules())) else positions


def has_hooks(module: nn.Module) -> bool:
    """Whether a hook sees, and may change, what this module itself reads or returns."""
    return bool(module._forward_hooks or module._forward_pre_hooks)


def method(part: nn.Module, name: str) -> object:
    """What a module calls by this name: of its own, or of its class; None if there is nothing."""
    return vars(part).get(name, getattr(type(part), name, None))


def with_cache(decoder: Module) -> tuple[Module, Cache]:
    """A copy of the decoder that shares its parameters, and the empty cache of the copy.

    The decoder is a stack of `DecoderBlock` or, in a model without an encoder, of `EncoderBlock`.
    """
    cache = Cache([], [])
    layers = [shallow_copy(layer) for layer in cast(nn.ModuleList, decoder.layers)]
    for layer in layers:
        cache.growing.extend(_remember(layer, SELF, GrowingProjection))
        if isinstance(layer, blocks.DecoderBlock):
            cache.constant.extend(_remember(layer, CROSS, ConstantProjection))
    copied = shallow_copy(decoder)
    copied._modules["layers"] = nn.ModuleList(layers)
    return copied, cache


def shallow_copy(module: Module) -> Module:
    """A copy that shares parameters and children; another child may be assigned to it."""
    copied = copy.copy(module)
    copied._modules = dict(module._modules)
    return copied


def _remember(
    layer: nn.Module, name: str, kind: type[RememberingProjection]
) -> Iterator[RememberingProjection]:
    """Replace ``w_k`` and ``w_v`` of the layer's attention block of this name, in a copy of it."""
    block = shallow_copy(layer.get_submodule(name))
    setattr(layer, name, block)
    for projection in ("w_k", "w_v"):
        remembering = kind(block.get_submodule(projection))
        setattr(block, projection, remembering)
        yield remembering


class Steps(Protocol):
    """What a search needs of a model that has read a batch of sources.

    A row is a translation being written: at first one for each source, in a beam search
    beam_size for each, sentence by sentence.
    """

    def step(self, last: Tensor) -> Tensor:
        """(rows,) the tokens written last -> (rows, vocab) log-probabilities of the next."""

    def reorder(self, rows: Tensor) -> None:
        """Row i continues what row rows[i] has written, from the same source sentence."""

    def keep(self, rows: Tensor) -> None:
        """Row i continues row rows[i] with its source sentence; the others are dropped."""


# (batch, src_len) source ids, padded -> the steps of their translations
Begin = Callable[[Tensor], Steps]


class CachedSteps:
    """The model's own forwards on the last token alone, with a key-value cache."""

    def __init__(self, model: Transformer, src: Tensor) -> None:
        self.encoder_output, self.src_mask = read(model, src)
        self.model = shallow_copy(model)
        self.model.decoder, self.cache = with_cache(model.decoder)
        self.model.tgt_pos = ContinuedPositions(model.tgt_pos)

    def step(self, last: Tensor) -> Tensor:
        """As `Steps.step`."""
        return widened(self.model.project(self.hidden(last)))[:, 0]

    def hidden(self, last: Tensor) -> Tensor:
        """(rows,) the tokens written last -> (rows, 1, d_model), the decoder's output."""
        # No mask: the new position may attend to itself and to all earlier ones.
        return self.model.decode(self.encoder_output, self.src_mask, last.unsqueeze(1), None)

    def reorder(self, rows: Tensor) -> None:
        """As `Steps.reorder`."""
        self.cache.reorder(rows)

    def keep(self, rows: Tensor) -> None:
        """As `Steps.keep`."""
        self.cache.keep(rows)
        self.encoder_output, self.src_mask = self.encoder_output[rows], self.src_mask[rows]


class UncachedSteps:
    """The model's own forwards on everything written so far: slower, right for any model."""

    def __init__(self, model: Transformer, src: Tensor) -> None:
        self.encoder_output, self.src_mask = read(model, src)
        self.model = model
        self.written = src[:, :0]  # (rows, tgt_len), BOS token included

    def step(self, last: Tensor) -> Tensor:
        """As `Steps.step`."""
        self.written = torch.cat([self.written, last.unsqueeze(1)], dim=1)
        tgt_mask = blocks.look_ahead_mask(self.written.shape[1], last.device)
        hidden = self.model.decode(self.encoder_output, self.src_mask, self.written, tgt_mask)
        return widened(self.model.project(hidden[:, -1:]))[:, 0]

    def reorder(self, rows: Tensor) -> None:
        """As `Steps.reorder`."""
        self.written = self.written[rows]

    def keep(self, rows: Tensor) -> None:
        """As `Steps.keep`."""
        self.reorder(rows)
        self.encoder_output, self.src_mask = self.encoder_output[rows], self.src_mask[rows]


def begin(model: Transformer, src: Tensor) -> Steps:
    """Read the sources; decode with a cache if all parts of the model are known to allow it.

    Shape:
        src: (batch, src_len) ids, padded

    Raises:
        UserError: the encoder output is not finite.
    """
    part = uncacheable_part(model.decoder, model.tgt_embed, model.tgt_pos)
    if part is None and method(model, "decode") is Transformer.decode:
        return CachedSteps(model, src)
    report_no_cache(type(model if part is None else part).__name__)
    return UncachedSteps(model, src)


def read(model: Transformer, src: Tensor) -> tuple[Tensor, Tensor]:
    """(batch, src_len) ids -> encoder output (batch, src_len, d_model) and padding mask."""
    src_mask = blocks.padding_mask(src, model.config.pad_id)
    encoder_output = model.encode(src, src_mask)
    check_finite(encoder_output, "the encoder's output")
    return encoder_output, src_mask


def check_finite(x: Tensor, name: str) -> None:
    """Refuse to decode with damaged weights: an element is NaN or infinite."""
    if not x.isfinite().all():
        raise UserError(
            f"{name} is not finite: the model's weights are damaged or its training diverged; "
            "use another checkpoint"
        )


def widened(x: Tensor) -> Tensor:
    """At least float32: a score is a sum over many tokens."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x


@cache
def report_no_cache(part: str) -> None:
    """Log once for each kind of part why decoding is slower."""
    logger.warning(
        "%s has its own formula or a hook, so decoding runs without a key-value cache: each step "
        "computes the whole prefix again, which is slower",
        part,
    )
