"""`head_view` and `model_view` with the arguments of bertviz (Vig 2019), in the same order.

    from clearhead.explain.view import head_view
    head_view(outputs.attentions, tokens)
    head_view(encoder_attention=…, decoder_attention=…, cross_attention=…,
              encoder_tokens=…, decoder_tokens=…)

The attention is what a transformers model returns with `output_attentions=True`: a tuple of
one (1, heads, query, key) tensor for each layer.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from clearhead.errors import UserError
from clearhead.explain.attention import AttentionMap, Kind, index_of
from clearhead.explain.view.page import AttentionView
from clearhead.explain.view.payload import Start

logger = logging.getLogger(__name__)

Attentions = Sequence[Tensor]
Tokens = Sequence[str]
DisplayMode = Literal["light", "dark"]
HtmlAction = Literal["view", "return"]

PADDING_TOKENS = frozenset({"<pad>", "[PAD]", "<|pad|>"})
_MAX_LOST_WEIGHT = 1e-3  # of a row, when the padding is removed
_ARGUMENTS: dict[Kind, tuple[str, str, str]] = {
    "self": ("attention", "tokens", "tokens"),
    "encoder": ("encoder_attention", "encoder_tokens", "encoder_tokens"),
    "decoder": ("decoder_attention", "decoder_tokens", "decoder_tokens"),
    "cross": ("cross_attention", "decoder_tokens", "encoder_tokens"),
}


class BertvizView:
    """What both calls share. As the value of a notebook cell it is shown; `data` is the HTML.

    `sentence_b_start` adds, for self-attention, one map for each pair of the two sentences.

    Raises:
        UserError: nothing to show, tokens that do not fit, or more than one sentence.
    """

    VIEW: ClassVar[Literal["flow", "model"]]
    sentence_b_start: int | None
    prettify_tokens: bool
    include_layers: Sequence[int] | None
    include_heads: Sequence[int] | None
    display_mode: DisplayMode
    html_action: HtmlAction

    def __post_init__(self) -> None:
        if self.html_action not in ("view", "return"):
            raise UserError(f"html_action={self.html_action!r}; give 'view' or 'return'")
        if self.display_mode not in ("light", "dark"):
            raise UserError(f"display_mode={self.display_mode!r}; give 'light' or 'dark'")
        _ = self.view  # report errors now

    @cached_property
    def view(self) -> AttentionView:
        """The view that is shown."""
        maps = [part for kind in _ARGUMENTS for part in self._maps(kind)]
        if not maps:
            raise UserError(
                "there is no attention; give attention and tokens, or encoder_attention, "
                "decoder_attention or cross_attention with encoder_tokens and decoder_tokens"
            )
        return AttentionView(maps, "", self._start(maps[0]), self.display_mode)

    def _start(self, first: AttentionMap) -> Start:
        return Start(view=self.VIEW)

    @property
    def data(self) -> str:
        """The HTML page, as with bertviz's `html_action="return"`."""
        return self.view.html

    def save(self, path: str) -> None:
        """Write the HTML page."""
        self.view.save(path)

    def _repr_html_(self) -> str:
        return self.view._repr_html_()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return self.view._repr_mimebundle_(include, exclude)

    def _maps(self, kind: Kind) -> list[AttentionMap]:
        name, query_name, key_name = _ARGUMENTS[kind]
        attention = getattr(self, name)
        if attention is None:
            return []
        queries, keys = self._tokens(query_name, name), self._tokens(key_name, name)
        whole = AttentionMap.of(kind, check_layers(attention, name), queries, keys)
        # The border counts from the first token, so it comes before padding is cut.
        parts = _in_parts(whole, self.sentence_b_start if kind == "self" else None)
        return [self._chosen(without_padding(part)) for part in parts]

    def _tokens(self, name: str, needed_by: str) -> list[str]:
        tokens = getattr(self, name)
        if tokens is None:
            raise UserError(f"{needed_by} needs {name}; give one token for each position")
        if wrong := [token for token in tokens if not isinstance(token, str)]:
            raise UserError(
                f"{name} holds {wrong[0]!r}, which is no text; give "
                "tokenizer.convert_ids_to_tokens(ids)"
            )
        return [prettified(token) if self.prettify_tokens else token for token in tokens]

    def _chosen(self, whole: AttentionMap) -> AttentionMap:
        layers = _existing("layer", self.include_layers, whole.layers)
        heads = _existing("head", self.include_heads, whole.heads)
        if not layers or not heads:
            raise UserError("include_layers or include_heads is empty; give at least one index")
        weights = whole.weights[list(layers)][:, list(heads)]
        return replace(whole, weights=weights, layers=layers, heads=heads)


@dataclass(frozen=True)
class head_view(BertvizView):
    """Tokens and lines, one colour for each head; arguments as in bertviz."""

    VIEW = "flow"
    attention: Attentions | None = None
    tokens: Tokens | None = None
    sentence_b_start: int | None = None
    prettify_tokens: bool = True
    layer: int | None = None
    heads: Sequence[int] | None = None
    encoder_attention: Attentions | None = None
    decoder_attention: Attentions | None = None
    cross_attention: Attentions | None = None
    encoder_tokens: Tokens | None = None
    decoder_tokens: Tokens | None = None
    include_layers: Sequence[int] | None = None
    html_action: HtmlAction = "view"
    include_heads: Sequence[int] | None = None
    display_mode: DisplayMode = "light"

    def _start(self, first: AttentionMap) -> Start:
        layer = 0 if self.layer is None else index_of("layer", self.layer, first.layers)
        heads = [self.heads] if isinstance(self.heads, int) else self.heads
        if heads is not None:
            heads = [index_of("head", head, first.heads) for head in heads]
        return Start(view=self.VIEW, layer=layer, heads=heads)


@dataclass(frozen=True)
class model_view(BertvizView):
    """Every head of every layer as a thumbnail that opens it; arguments as in bertviz."""

    VIEW = "model"
    attention: Attentions | None = None
    tokens: Tokens | None = None
    sentence_b_start: int | None = None
    prettify_tokens: bool = True
    display_mode: DisplayMode = "light"
    encoder_attention: Attentions | None = None
    decoder_attention: Attentions | None = None
    cross_attention: Attentions | None = None
    encoder_tokens: Tokens | None = None
    decoder_tokens: Tokens | None = None
    include_layers: Sequence[int] | None = None
    include_heads: Sequence[int] | None = None
    html_action: HtmlAction = "view"


def check_layers(attention: object, name: str) -> list[Tensor]:
    """One tensor for each layer.

    Raises:
        UserError: an element is None, or the value is what `generate` returns, or no tensors.
    """
    layers = list(attention) if isinstance(attention, list | tuple) else [attention]
    if any(isinstance(layer, list | tuple) for layer in layers):
        raise UserError(
            f"{name} is that of generate(), one tuple for each step; "
            "run the model once on the whole text and give what it returns"
        )
    tensors = [torch.as_tensor(layer) for layer in layers if hasattr(layer, "__array__")]
    if not layers or len(tensors) < len(layers):
        raise UserError(
            f"{name} holds no weights; load the model with attn_implementation='eager' "
            "and call it with output_attentions=True"
        )
    return tensors


def prettified(token: str) -> str:
    """The token without the characters that tokenizers write for a space."""
    return token.replace("Ġ", " ").replace("▁", " ").replace("</w>", "").strip() or token


def without_padding(shown: AttentionMap) -> AttentionMap:
    """Without the padding after the tokens, and without two or more padding tokens before them.

    One `<pad>` before the tokens is Marian's BOS token, and is kept. Padding that receives
    weight, because the model was called without its attention_mask, is kept with a warning:
    without it the rows would not sum to 1.
    """
    queries, keys = _not_padding(shown.queries), _not_padding(shown.keys)
    rows = shown.weights[:, :, queries]
    lost = rows.sum(-1) - rows[..., keys].sum(-1)
    if lost.size and lost.max() > _MAX_LOST_WEIGHT:
        logger.warning(
            "the padding of %s receives weight, so it is shown; give the model its attention_mask",
            shown.title.lower(),
        )
        keys = slice(None)
        queries = slice(None) if shown.queries == shown.keys else queries
    return _cut(shown, queries, keys)


def _not_padding(tokens: Tokens) -> slice:
    start, stop = 0, len(tokens)
    while stop > 1 and tokens[stop - 1] in PADDING_TOKENS:
        stop -= 1
    while start < stop - 1 and tokens[start] in PADDING_TOKENS:
        start += 1
    return slice(start if start > 1 else 0, stop)


def _existing(what: str, chosen: Sequence[int] | None, every: tuple[int, ...]) -> tuple[int, ...]:
    """The chosen indices, counted from 0 also where they were given from the end."""
    return every if chosen is None else tuple(index_of(what, index, every) for index in chosen)


def _cut(shown: AttentionMap, queries: slice, keys: slice) -> AttentionMap:
    return replace(
        shown,
        weights=shown.weights[:, :, queries, keys],
        queries=shown.queries[queries],
        keys=shown.keys[keys],
    )


def _in_parts(whole: AttentionMap, border: int | None) -> list[AttentionMap]:
    """The whole map, and with a border between two sentences their four blocks."""
    if border is None:
        return [whole]
    if not 0 < border < len(whole.keys):
        raise UserError(
            f"sentence_b_start={border} is not within the {len(whole.keys)} tokens; "
            f"give a number from 1 to {len(whole.keys) - 1}"
        )
    halves = {"A": slice(None, border), "B": slice(border, None)}
    blocks = [
        replace(_cut(whole, queries, keys), part=f"sentence {a} → {b}")
        for a, queries in halves.items()
        for b, keys in halves.items()
    ]
    return [whole, *blocks]
