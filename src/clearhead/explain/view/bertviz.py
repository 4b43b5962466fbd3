"""bertviz's two calls, with its argument names (Vig 2019): code that used it goes on working.

    from clearhead.explain.view import head_view
    head_view(outputs.attentions, tokens)
    head_view(encoder_attention=…, decoder_attention=…, cross_attention=…,
              encoder_tokens=…, decoder_tokens=…)

The attention is what a model of transformers returns with `output_attentions=True`: a tuple
of one (1, heads, query, key) tensor a layer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

from torch import Tensor

from clearhead.errors import UserError
from clearhead.explain.attention_map import AttentionMap, Kind
from clearhead.explain.view.attention_view import AttentionView
from clearhead.explain.view.cropping import crop
from clearhead.explain.view.payload import Start

Attentions = Sequence[Tensor]
Tokens = Sequence[str]


@dataclass(frozen=True)
class BertvizCall:
    """What both calls take. Last line of a cell: it is shown. `data` is the HTML.

    `sentence_b_start` adds, for self-attention, what each of two sentences looks at in each.

    Raises:
        UserError: nothing to show, words that do not fit, or more than one sentence.
    """

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
    include_heads: Sequence[int] | None = None
    display_mode: Literal["light", "dark"] = "light"
    html_action: Literal["view", "return"] = "view"

    _VIEW: ClassVar[Literal["flow", "model"]] = "flow"

    def __post_init__(self) -> None:
        if self.html_action not in ("view", "return"):
            raise UserError(f"html_action={self.html_action!r}; give 'view' or 'return'")
        if self.display_mode not in ("light", "dark"):
            raise UserError(f"display_mode={self.display_mode!r}; give 'light' or 'dark'")
        _ = self.view  # what is wrong is said now

    @cached_property
    def view(self) -> AttentionView:
        """The view that it shows."""
        maps = [part for kind in _SIDES for part in self._maps(kind)]
        if not maps:
            raise UserError(
                "there is no attention; give attention and tokens, or encoder_attention, "
                "decoder_attention or cross_attention with encoder_tokens and decoder_tokens"
            )
        place = 0
        if self.layer is not None:
            maps[0].layer(self.layer)
            place = maps[0].layers.index(self.layer)
        chosen = None if self.heads is None else [maps[0].heads.index(h) for h in self.heads]
        start = Start(view=self._VIEW, layer=place, heads=chosen)
        return AttentionView(maps, "", start, self.display_mode)

    @property
    def data(self) -> str:
        """The page, as bertviz's `html_action="return"` gives it."""
        return self.view.html

    def save(self, path: str) -> None:
        """Write the page."""
        self.view.save(path)

    def _repr_html_(self) -> str:
        return self.view._repr_html_()

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return self.view._repr_mimebundle_(include, exclude)

    def _maps(self, kind: Kind) -> list[AttentionMap]:
        name, query_name, key_name = _SIDES[kind]
        attention = getattr(self, name)
        if attention is None:
            return []
        queries, keys = self._words(query_name, name), self._words(key_name, name)
        whole = crop(AttentionMap.of(kind, check_layers(attention, name), queries, keys))
        return _in_parts(self._chosen(whole), self.sentence_b_start if kind == "self" else None)

    def _words(self, name: str, needed_by: str) -> list[str]:
        tokens = getattr(self, name)
        if tokens is None:
            raise UserError(f"{needed_by} is given without {name}; give one word a position")
        return [prettified(token) if self.prettify_tokens else token for token in tokens]

    def _chosen(self, whole: AttentionMap) -> AttentionMap:
        layers = whole.layers if self.include_layers is None else tuple(self.include_layers)
        heads = whole.heads if self.include_heads is None else tuple(self.include_heads)
        for layer in layers:
            for head in heads:
                whole.head(layer, head)  # says which is not there
        weights = whole.weights[list(layers)][:, list(heads)]
        return replace(whole, weights=weights, layers=layers, heads=heads)


class head_view(BertvizCall):
    """Words and lines, one colour a head."""


class model_view(BertvizCall):
    """Every head of every layer as a small picture; a click opens it."""

    _VIEW: ClassVar[Literal["flow", "model"]] = "model"


_SIDES: dict[Kind, tuple[str, str, str]] = {
    "self": ("attention", "tokens", "tokens"),
    "encoder": ("encoder_attention", "encoder_tokens", "encoder_tokens"),
    "decoder": ("decoder_attention", "decoder_tokens", "decoder_tokens"),
    "cross": ("cross_attention", "decoder_tokens", "encoder_tokens"),
}


def check_layers(attention: object, name: str) -> list[Tensor]:
    """One tensor a layer, or a line that says how to get it.

    Raises:
        UserError: None in it, or what `generate` returns, or no tensors at all.
    """
    layers = list(attention) if isinstance(attention, list | tuple) else [attention]
    if any(isinstance(layer, list | tuple) for layer in layers):
        raise UserError(
            f"{name} is that of generate(), one step after the other; "
            "run the model once on the whole text and give what it returns"
        )
    tensors = [layer for layer in layers if isinstance(layer, Tensor)]
    if not layers or len(tensors) < len(layers):
        raise UserError(
            f"{name} holds no weights; load the model with attn_implementation='eager' "
            "and call it with output_attentions=True"
        )
    return tensors


def prettified(token: str) -> str:
    """Without the signs that tokenizers put where a space was."""
    return token.replace("Ġ", " ").replace("▁", " ").replace("</w>", "").strip() or token


def _in_parts(whole: AttentionMap, border: int | None) -> list[AttentionMap]:
    """The whole, and with a border between two sentences the four blocks."""
    if border is None:
        return [whole]
    if not 0 < border < len(whole.keys):
        raise UserError(
            f"sentence_b_start={border} lies outside the {len(whole.keys)} words; "
            f"give a number from 1 to {len(whole.keys) - 1}"
        )
    halves = {"A": slice(None, border), "B": slice(border, None)}
    return [
        whole,
        *(
            replace(
                whole,
                weights=whole.weights[:, :, rows, columns],
                queries=whole.queries[rows],
                keys=whole.keys[columns],
                part=f"sentence {here} → {there}",
            )
            for here, rows in halves.items()
            for there, columns in halves.items()
        ),
    ]
