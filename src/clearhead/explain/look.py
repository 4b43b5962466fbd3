"""A translator led along one sentence and its translation, and all that it looked at."""

from dataclasses import dataclass

import torch
from torch import Tensor

from clearhead.blocks import look_ahead_mask, padding_mask
from clearhead.decoding import DecodingOptions, decode
from clearhead.decoding.search import in_eval_mode
from clearhead.errors import UserError
from clearhead.explain.attention_map import AttentionMap
from clearhead.explain.capture import capture
from clearhead.explain.words import labels
from clearhead.models import Transformer
from clearhead.translation import Translator

BLOCKS = {
    "encoder": "encoder.layers.*.self_attention_block.weights",
    "decoder": "decoder.layers.*.self_attention_block.weights",
    "cross": "decoder.layers.*.cross_attention_block.weights",
}


@dataclass(frozen=True)
class Sentence:
    """A sentence and its translation as the model reads them.

    `source` ends with the end sign; the decoder reads `read`, which begins with the
    begin sign, and at each place should write the token of `written` at that place.
    """

    source: list[int]
    read: list[int]
    written: list[int]
    text: str
    translation: str

    def tensors(self, model: Transformer) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """What `Transformer.forward` takes: src, tgt, src_mask, tgt_mask."""
        device, pad_id = next(model.parameters()).device, model.config.pad_id
        src = torch.tensor([self.source], device=device)
        tgt = torch.tensor([self.read], device=device)
        # One sentence has no filling; and Marian's begin sign is the sign of filling.
        return src, tgt, padding_mask(src, pad_id), look_ahead_mask(len(self.read), device)


def sentence(translator: Translator, text: str, target: str | None = None) -> Sentence:
    """The ids of a text and of its translation: `target`, or what the translator says.

    The text is read whole, as one sentence.

    Raises:
        UserError: the text or the target is blank, or longer than the model's positions.
    """
    config, tokenizer = translator.model.config, translator.tokenizer
    ids = tokenizer.encode(text) if text.strip() else []
    source = [*_fitting(ids, "the text", config.src_seq_len), config.eos_id]
    if target is None:
        best = decode(translator.model, [source], DecodingOptions())[0][0]
        ids = list(best.ids)[: config.tgt_seq_len - 1]
    else:
        ids = tokenizer.encode_target(target) if target.strip() else []
        ids = _fitting(ids, "the target", config.tgt_seq_len)
    read, written = [config.bos_id, *ids], [*ids, config.eos_id]
    return Sentence(source, read, written, text, tokenizer.decode(ids))


def look(translator: Translator, known: Sentence) -> list[AttentionMap]:
    """Encoder, decoder and cross-attention while the model is led along the translation.

    A row of decoder self-attention is named by the token that was just read, a row of
    cross-attention by the token that is written there.
    """
    model, tokenizer = translator.model, translator.tokenizer
    with in_eval_mode(model), torch.inference_mode(), capture(model, *BLOCKS.values()) as seen:
        src, tgt, src_mask, tgt_mask = known.tensors(model)
        model.decode(model.encode(src, src_mask), src_mask, tgt, tgt_mask)
    kinds = {path: kind for kind, path in BLOCKS.items()}
    weights: dict[str, list[Tensor]] = {kind: [] for kind in BLOCKS}
    for path, tensor in seen.items():
        steps = path.split(".")
        weights[kinds[".".join([*steps[:2], "*", *steps[3:]])]].append(tensor)
    source, read, written = (
        labels(tokenizer, ids) for ids in (known.source, known.read, known.written)
    )
    return [
        AttentionMap.of("encoder", weights["encoder"], source, source),
        AttentionMap.of("decoder", weights["decoder"], read, read),
        AttentionMap.of("cross", weights["cross"], written, source),
    ]


def _fitting(ids: list[int], what: str, positions: int) -> list[int]:
    if not ids:
        raise UserError(f"{what} is blank; give a sentence")
    if len(ids) + 1 > positions:
        raise UserError(
            f"{what} has {len(ids) + 1} tokens with its sign, but this model has "
            f"{positions} positions; give a shorter sentence"
        )
    return ids
