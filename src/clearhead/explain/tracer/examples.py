"""Two traces for the command line: of a model of given sizes, and of one sentence."""

from contextlib import nullcontext
from pathlib import Path

import torch

from clearhead.blocks import look_ahead_mask
from clearhead.errors import UserError
from clearhead.explain.attention import sentence_pair
from clearhead.explain.tracer.tracing import Trace, trace
from clearhead.models import Transformer, TransformerConfig
from clearhead.models.architecture import Uninitialized
from clearhead.translation import Translator
from clearhead.translation.loading import load_translator

_MOST = 2**60  # elements of a tensor: their bytes are counted in 63 bits
_FEW_TOKENS = 2048  # a pass over so few tokens takes a moment even on the CPU


def trace_sizes(config: TransformerConfig, batch: int, src_len: int, tgt_len: int) -> Trace:
    """Trace one forward pass of training in these sizes, with uninitialized weights.

    A large batch runs on torch's meta device, which computes shapes only. A small one does not:
    loading what the meta device needs takes longer than the pass.
    """
    _check_elements(config, batch, src_len, tgt_len)
    few = batch * (src_len + tgt_len) <= _FEW_TOKENS
    # An explicit device is looked up at every operation, which costs a fifth of the time.
    with nullcontext() if few else torch.device("meta"), torch.inference_mode():
        with Uninitialized():
            model = Transformer.from_config(config).eval()
        src = torch.zeros(batch, src_len, dtype=torch.long)
        tgt = torch.zeros(batch, tgt_len, dtype=torch.long)
        src_mask = torch.ones(batch, 1, 1, src_len, dtype=torch.bool)
        tgt_mask = look_ahead_mask(tgt_len).expand(batch, 1, tgt_len, tgt_len)
        return trace(model, src, tgt, src_mask, tgt_mask)


def _check_elements(config: TransformerConfig, batch: int, src_len: int, tgt_len: int) -> None:
    longest = max(src_len, tgt_len)
    widest = max(config.d_model, config.d_ff, config.h * longest)
    if batch * max(longest * widest, tgt_len * config.tgt_vocab_size) >= _MOST:
        raise UserError(
            f"a batch of {batch:,} with lengths {src_len:,} and {tgt_len:,} has tensors of more "
            "elements than torch can count; give smaller sizes"
        )


def trace_text(directory: Path, text: str, target: str | None = None) -> tuple[Trace, str]:
    """Trace a sentence and its translation: `target`, or the model's own translation.

    Returns the trace and a line with both sentences.

    Raises:
        UserError: the text is blank, or longer than the model's maximum length.
    """
    model, tokenizer = load_translator(directory, torch.device("cpu"))
    with torch.inference_mode():
        pair = sentence_pair(Translator(model, tokenizer), text, target)
        found = trace(model, *pair.tensors(model))
    return found, f"{pair.text} → {pair.translation}"
