r"""How a prediction arises: head ablation, the logit lens and saliency.

A head contributes through its own columns of w_o. With these at zero it still attends, but its
output is not used. Attention weights show what a head attends to; ablation shows how much the
translation depends on it. (Michel, Levy and Neubig 2019, "Are Sixteen Heads Really Better than
One?")

The residual stream has the same width after every layer, so the final norm and the projection can
be applied anywhere: the logit lens (nostalgebraist 2020, "interpreting GPT: the logit lens").
Early layers were never trained for this; take their predictions as a hint.

.. math:: s_{ti} = x_i \cdot \frac{\partial \log p(y_t)}{\partial x_i}

x_i is the embedding of source token i. The value is the derivative with respect to a factor on
x_i, and is computed as such. Attention weights show what the decoder reads from; saliency shows
what its output depends on. They often disagree (Bastings and Filippova 2020, "The elephant in the
interpretability room").
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from clearhead.blocks import MultiHeadAttentionBlock
from clearhead.blocks.variants.low_rank import LowRankLinear
from clearhead.decoding.readable import in_eval_mode
from clearhead.errors import UserError
from clearhead.explain import attention
from clearhead.explain.attention import BLOCKS, AttentionMap, SentencePair
from clearhead.explain.capture import private_copy
from clearhead.models import Transformer
from clearhead.translation import Translator


class Head(NamedTuple):
    """One head: kind is encoder, decoder or cross; layer and head count from 0."""

    kind: str
    layer: int
    head: int


@dataclass(frozen=True)
class Effect:
    """The effect of removing heads on one sentence, with log-probabilities of the whole target."""

    removed: tuple[Head, ...]
    translation: str  # of the complete model
    translation_without: str
    log_probability: float  # of `translation`, by the complete model
    log_probability_without: float  # of `translation`, by the model without these heads

    @property
    def change(self) -> float:
        """Negative: without the heads the translation is less likely."""
        return self.log_probability_without - self.log_probability


# One thread at a time: a second one would take zeroed weights for the model's own.
_ABLATION = threading.RLock()


@contextmanager
def head_ablation(model: Transformer, heads: Sequence[Head]) -> Iterator[None]:
    """Within the block these heads contribute nothing; afterwards all weights are restored.

    Raises:
        UserError: there is no such head.
    """
    with _ABLATION:
        columns = [weights for head in heads for weights in _columns(model, head)]
        before = [weights.clone() for weights in columns]
        try:
            for weights in columns:
                weights.zero_()
            yield
        finally:
            for weights, kept in zip(columns, before, strict=True):
                weights.copy_(kept)


def effect_of(
    translator: Translator, text: str, heads: Sequence[Head], target: str | None = None
) -> Effect:
    """Translate with and without these heads; both models score the same translation.

    That translation is `target`, or the complete model's own.
    """
    pair = attention.sentence_pair(translator, text, target)
    before = log_probability(translator.model, pair)
    with head_ablation(translator.model, heads):
        after = log_probability(translator.model, pair)
        without = attention.sentence_pair(translator, text).translation
    return Effect(tuple(heads), pair.translation, without, before, after)


def effects(translator: Translator, pair: SentencePair) -> dict[str, list[list[float]]]:
    """The change of log-probability without each single head, as kind -> layer -> head."""
    model, before = translator.model, log_probability(translator.model, pair)
    return {
        kind: [
            [_without(model, pair, Head(kind, layer, head)) - before for head in range(block.h)]
            for layer, block in enumerate(_blocks(model, kind))
        ]
        for kind in BLOCKS
    }


def log_probability(model: Transformer, pair: SentencePair) -> float:
    """The log-probability of the whole translation, including the EOS token, in nats."""
    with in_eval_mode(model), torch.inference_mode():
        log_probabilities: Tensor = model(*pair.tensors(model))[0].double()
        written = torch.tensor(pair.written, device=log_probabilities.device)
        return float(log_probabilities.gather(1, written.unsqueeze(1)).sum())


def _without(model: Transformer, pair: SentencePair, head: Head) -> float:
    with head_ablation(model, [head]):
        return log_probability(model, pair)


def _blocks(model: Transformer, kind: str) -> list[MultiHeadAttentionBlock]:
    if kind not in BLOCKS:
        raise UserError(f"there is no attention {kind!r}; choose from {', '.join(BLOCKS)}")
    layers, _, name = BLOCKS[kind].partition(".*.")
    blocks = [layer.get_submodule(name) for layer in model.get_submodule(layers).children()]
    return [block for block in blocks if isinstance(block, MultiHeadAttentionBlock)]


def _columns(model: Transformer, head: Head) -> list[Tensor]:
    """The columns of w_o that belong to a head; writing to them changes the model.

    An adapted w_o reads its input with two matrices, its own W and A of the update.
    """
    blocks = _blocks(model, head.kind)
    if not (0 <= head.layer < len(blocks) and 0 <= head.head < blocks[head.layer].h):
        raise UserError(
            f"there is no head {head.head} in {head.kind} layer {head.layer}; this model has "
            f"{len(blocks)} layers of {blocks[0].h} heads there, counted from 0"
        )
    block = blocks[head.layer]
    w_o: nn.Module = block.w_o
    readers = [w_o.linear, w_o.down] if isinstance(w_o, LowRankLinear) else [w_o]
    part = slice(head.head * block.d_k, (head.head + 1) * block.d_k)
    return [reader.get_parameter("weight").detach()[:, part] for reader in readers]


ENCODER = "src_pos", "encoder.layers.*"
DECODER = "tgt_pos", "decoder.layers.*"


@dataclass(frozen=True)
class Lens:
    """The predictions after 0 (embedding and position), 1, 2 … layers of the decoder.

    Shape:
        log_probabilities: (layers + 1, tgt_len, vocab); the last is the model's own output
        written: (tgt_len,) the ids that the decoder should write
    """

    log_probabilities: Tensor
    written: tuple[int, ...]

    def best(self) -> Tensor:
        """The most likely token: (layers + 1, tgt_len)."""
        return self.log_probabilities.argmax(-1)

    def probability_of_best(self) -> Tensor:
        """The probability of the most likely token: (layers + 1, tgt_len)."""
        return self.log_probabilities.max(-1).values.exp()

    def rank_of_written(self) -> Tensor:
        """How many tokens are more likely than the written one: (layers + 1, tgt_len)."""
        ids = torch.tensor(self.written).expand(len(self.log_probabilities), -1).unsqueeze(-1)
        own = self.log_probabilities.gather(-1, ids)
        return (self.log_probabilities > own).sum(-1)


def logit_lens(model: Transformer, pair: SentencePair) -> Lens:
    """Apply the final norm and the projection to the decoder's residual stream at every depth."""
    norm = model.decoder.get_submodule("norm")
    stream = attention.activations(model, pair, *DECODER)
    with in_eval_mode(model), torch.inference_mode():
        read = [model.project(norm(state))[0].cpu() for state in stream.values()]
    return Lens(torch.stack(read), tuple(pair.written))


def norms_by_depth(model: Transformer, pair: SentencePair) -> dict[str, list[list[float]]]:
    """For "encoder" and "decoder": the norm at every token after 0, 1, 2 … layers."""
    stream = attention.activations(model, pair, *ENCODER, *DECODER)
    prefixes = {"encoder": ("src_pos", "encoder."), "decoder": ("tgt_pos", "decoder.")}
    return {
        stack: [stream[path][0].norm(dim=-1).tolist() for path in stream if path.startswith(prefix)]
        for stack, prefix in prefixes.items()
    }


def saliency(model: Transformer, pair: SentencePair) -> NDArray[np.float32]:
    """Signed saliency; positive where a larger embedding makes the written token likelier.

    Shape: -> (written, source)
    """
    model, written = private_copy(model), torch.tensor(pair.written)
    # One copy of the sentence for each written token, each with its own factors.
    src, tgt, src_mask, tgt_mask = (
        tensor.expand(len(written), *tensor.shape[1:]) for tensor in pair.tensors(model)
    )
    device, dtype = src.device, next(model.parameters()).dtype
    factors = torch.ones(src.shape, device=device, dtype=dtype, requires_grad=True)
    scaled = model.src_embed.register_forward_hook(
        lambda module, inputs, output: output * factors.unsqueeze(-1)
    )
    with scaled, torch.enable_grad():
        log_probabilities = model(src, tgt, src_mask, tgt_mask)
        positions = torch.arange(len(written), device=device)
        total = log_probabilities[positions, positions, written.to(device)].sum()
        (gradient,) = torch.autograd.grad(total, factors)
    return gradient.float().cpu().numpy()


def shares(signed: NDArray[np.float32]) -> NDArray[np.float32]:
    """Absolute values normalized to rows of sum 1, comparable with attention weights."""
    magnitudes = np.abs(signed)
    totals = np.maximum(magnitudes.sum(-1, keepdims=True), np.finfo(np.float32).tiny)
    return magnitudes / totals


def as_map(signed: NDArray[np.float32], cross: AttentionMap) -> AttentionMap:
    """The normalized saliency as a map with the tokens of the cross-attention."""
    weights = shares(signed)[None, None]
    return AttentionMap("saliency", weights, cross.queries, cross.keys, (0,), (0,))
