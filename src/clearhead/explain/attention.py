"""The attention of a translator on one sentence and its translation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from clearhead.blocks import look_ahead_mask, padding_mask
from clearhead.decoding import DecodingOptions, decode
from clearhead.decoding.readable import in_eval_mode
from clearhead.errors import UserError
from clearhead.explain.capture import Captured, capture, private_copy
from clearhead.models import Transformer
from clearhead.text import BothLanguages
from clearhead.translation import Translator
from clearhead.translation.result import alignment_layer_of

Kind = Literal["encoder", "decoder", "cross", "self", "saliency"]
TITLES = {
    "encoder": "Encoder self-attention",
    "decoder": "Decoder self-attention",
    "cross": "Cross-attention",
    "self": "Self-attention",
    "saliency": "Saliency, |gradient × input|",
}
BLOCKS: dict[Kind, str] = {
    "encoder": "encoder.layers.*.self_attention_block",
    "decoder": "decoder.layers.*.self_attention_block",
    "cross": "decoder.layers.*.cross_attention_block",
}
CONTINUATION = "·"  # precedes a token that continues a word: "quatre" "·vingt"


@dataclass(frozen=True)
class AttentionMap:
    """The attention weights of one kind of attention in every layer and head.

    Each row belongs to one query; its weights are at least 0 and sum to 1. `layers` and `heads`
    are the indices, from 0, that the model gives to the layers and heads in `weights`. `part`
    names the part of the sentence if only a part is held; then rows may sum to less. `products`
    holds q · k before the division by √d_k, if known; `causal` means that later keys are hidden.

    Shape:
        weights, products: (layers, h, query, key), float32
    """

    kind: Kind
    weights: NDArray[np.float32]
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    layers: tuple[int, ...]
    heads: tuple[int, ...]
    part: str = ""
    products: NDArray[np.float32] | None = None
    d_k: int = 0
    causal: bool = False

    @classmethod
    def of(
        cls, kind: Kind, layers: Sequence[Tensor], queries: Sequence[str], keys: Sequence[str]
    ) -> Self:
        """From one (1, h, query, key) or (h, query, key) tensor for each layer.

        Raises:
            UserError: more than one sentence, no weights, or tokens that do not fit the weights.
        """
        matrices = [_one_sentence(layer) for layer in layers]
        if len(shapes := {tuple(matrix.shape) for matrix in matrices}) > 1:
            raise UserError(f"layers of different shapes, {sorted(shapes)}; show them one by one")
        weights = torch.stack(matrices).float().cpu().numpy()
        if not ((weights >= 0) & (weights < 1.01)).all():  # NaN is neither
            raise UserError("these are no weights from 0 to 1; give those after the softmax")
        found, given = weights.shape[2:], (len(queries), len(keys))
        if found != given:
            raise UserError(
                f"{TITLES[kind].lower()} has {found[0]} x {found[1]} positions, but {given[0]} and "
                f"{given[1]} tokens were given; give one token for each position"
            )
        indices = tuple(range(weights.shape[0])), tuple(range(weights.shape[1]))
        return cls(kind, weights, tuple(queries), tuple(keys), *indices)

    @property
    def title(self) -> str:
        """The name of this kind of attention."""
        return TITLES[self.kind] + (f", {self.part}" if self.part else "")

    @property
    def alignment_layer(self) -> int:
        """The layer whose cross-attention aligns words best."""
        return alignment_layer_of(len(self.layers))

    def layer(self, layer: int) -> NDArray[np.float32]:
        """The weights (h, query, key) of a layer; a negative index counts from the end."""
        return self.weights[index_of("layer", layer, self.layers)]

    def head(self, layer: int, head: int) -> NDArray[np.float32]:
        """The weights (query, key) of one head."""
        return self.layer(layer)[index_of("head", head, self.heads)]


def of_kind(maps: Sequence[AttentionMap], kind: str) -> AttentionMap:
    """The map of this kind.

    Raises:
        UserError: there is none; the message lists those that exist.
    """
    for one in maps:
        if one.kind == kind:
            return one
    raise UserError(
        f"this model has no {TITLES.get(kind, kind).lower()}; "
        f"choose from {', '.join(one.kind for one in maps)}"
    )


def _one_sentence(layer: Tensor) -> Tensor:
    if layer.dim() == 4 and layer.shape[0] != 1:
        raise UserError(
            f"the attention is that of {layer.shape[0]} sentences; "
            "give one, for example [layer[i : i + 1] for layer in attention]"
        )
    if layer.dim() not in (3, 4):
        raise UserError(
            f"a layer of attention has the shape {tuple(layer.shape)}; "
            "expected (1, heads, query, key)"
        )
    return layer.detach().reshape(layer.shape[-3:])


def index_of(what: str, index: int, indices: tuple[int, ...]) -> int:
    """Where `indices` has this one; a negative index counts from the end.

    Raises:
        UserError: it does not.
    """
    if index in range(-indices[-1] - 1, 0):
        index += indices[-1] + 1
    if index not in indices:
        raise UserError(
            f"there is no {what} {index!r}; choose from {indices[0]} to {indices[-1]}, counted "
            "from 0"
        )
    return indices.index(index)


@dataclass(frozen=True)
class SentencePair:
    """The ids of a sentence and its translation.

    `source` ends with the EOS token. The decoder reads `read`, which begins with the BOS token,
    and at each position predicts the token of `written` at that position.
    """

    source: list[int]
    read: list[int]
    written: list[int]
    text: str
    translation: str

    def tensors(self, model: Transformer) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """The arguments of `Transformer.forward`: src, tgt, src_mask, tgt_mask."""
        device, pad_id = next(model.parameters()).device, model.config.pad_id
        src = torch.tensor([self.source], device=device)
        tgt = torch.tensor([self.read], device=device)
        # One sentence has no padding; and Marian's BOS token is its padding token.
        return src, tgt, padding_mask(src, pad_id), look_ahead_mask(len(self.read), device)


def sentence_pair(translator: Translator, text: str, target: str | None = None) -> SentencePair:
    """The ids of a text and of its translation: `target`, or the translator's own.

    The text is treated as one sentence.

    Raises:
        UserError: the text or the target is blank, has line breaks, or is longer than the model's
            maximum length.
    """
    config, tokenizer = translator.model.config, translator.tokenizer
    source = [*_ids(text, tokenizer.encode, "the text", config.src_seq_len), config.eos_id]
    if target is None:
        best = decode(translator.model, [source], DecodingOptions())[0][0]
        ids = list(best.ids)[: config.tgt_seq_len - 1]
    else:
        ids = _ids(target, tokenizer.encode_target, "the target", config.tgt_seq_len)
    read, written = [config.bos_id, *ids], [*ids, config.eos_id]
    return SentencePair(source, read, written, text, tokenizer.decode(ids))


def _ids(text: str, encode: Callable[[str], list[int]], what: str, positions: int) -> list[int]:
    ids = encode(text) if text.strip() else []
    if not ids:
        raise UserError(f"{what} is blank; give a sentence")
    if "\n" in text or "\r" in text:
        raise UserError(f"{what} has more than one line; give one sentence, without line breaks")
    if len(ids) + 1 > positions:
        raise UserError(
            f"{what} has {len(ids) + 1} tokens including a special token, but this model has "
            f"{positions} positions; give a shorter sentence"
        )
    return ids


def attention_maps(translator: Translator, pair: SentencePair) -> list[AttentionMap]:
    """Encoder, decoder and cross-attention of one forward pass over a sentence pair.

    A row of decoder self-attention is labelled by the token that the decoder reads there, a row
    of cross-attention by the token that it should write there.
    """
    model, tokenizer = translator.model, translator.tokenizer
    paths = [f"{path}.{name}" for path in BLOCKS.values() for name in ("weights", "w_q", "w_k")]
    captured = activations(model, pair, *paths)
    source, read, written = (
        labels(tokenizer, ids) for ids in (pair.source, pair.read, pair.written)
    )
    axes: dict[Kind, tuple[list[str], list[str]]] = {
        "encoder": (source, source), "decoder": (read, read), "cross": (written, source),
    }  # fmt: skip
    return [_map_of(kind, captured, *axes[kind]) for kind in BLOCKS]


def activations(model: Transformer, pair: SentencePair, *names: str) -> Captured:
    """What `capture` finds under these names in one forward pass, without the projection."""
    model = private_copy(model)
    with torch.inference_mode(), capture(model, *names) as captured:
        src, tgt, src_mask, tgt_mask = pair.tensors(model)
        model.decode(model.encode(src, src_mask), src_mask, tgt, tgt_mask)
    return captured


def _map_of(kind: Kind, captured: Captured, queries: list[str], keys: list[str]) -> AttentionMap:
    weights, q, k = (_of_every_layer(captured, kind, name) for name in ("weights", "w_q", "w_k"))
    heads = weights[0].shape[1]
    products = [_products(*layer, heads) for layer in zip(q, k, strict=True)]
    return replace(
        AttentionMap.of(kind, weights, queries, keys),
        products=torch.stack(products).float().cpu().numpy(),
        d_k=q[0].shape[-1] // heads,
        causal=kind == "decoder",
    )


def _of_every_layer(captured: Captured, kind: Kind, name: str) -> list[Tensor]:
    stack, _, block = BLOCKS[kind].partition("*.")
    ends = f".{block}.{name}"
    return [t for path, t in captured.items() if path.startswith(stack) and path.endswith(ends)]


def _products(q: Tensor, k: Tensor, heads: int) -> Tensor:
    """q · k of every head: (1, query, d_model), (1, key, d_model) -> (h, query, key)."""
    # (1, seq, d_model) -> (seq, h, d_k) -> (h, seq, d_k)
    q, k = (x[0].unflatten(-1, (heads, -1)).transpose(0, 1) for x in (q, k))
    return q @ k.transpose(-2, -1)


@dataclass(frozen=True)
class Prediction:
    """The most likely tokens, with their probabilities, after a prefix of the translation."""

    prefix: str
    tokens: list[tuple[str, float]]


def next_tokens(translator: Translator, pair: SentencePair, count: int = 5) -> list[Prediction]:
    """The `count` most likely tokens at every position of the translation."""
    model, tokenizer = translator.model, translator.tokenizer
    with in_eval_mode(model), torch.inference_mode():
        chances = model(*pair.tensors(model))[0].float().exp()
        best = chances.topk(min(count, chances.shape[-1]), dim=-1)
    rows = zip(best.indices.tolist(), best.values.tolist(), strict=True)
    return [
        Prediction(
            tokenizer.decode(pair.written[:position]).strip(),
            [(label(tokenizer.piece(token)), p) for token, p in zip(ids, values, strict=True)],
        )
        for position, (ids, values) in enumerate(rows)
    ]


def labels(tokenizer: BothLanguages, ids: Sequence[int]) -> list[str]:
    """One label for each token: no leading space, a dot before a continuation of a word."""
    pieces = [tokenizer.piece(token) for token in ids]
    return [label(piece, before) for piece, before in zip(pieces, [" ", *pieces], strict=False)]


def label(piece: str, before: str = "") -> str:
    """The label of one token after another; white space is shown as open boxes."""
    if not piece.strip():
        return "␣" * len(piece)
    continues = piece[0].isalnum() and before[-1:].isalnum()
    return CONTINUATION + piece if continues else piece.strip()
