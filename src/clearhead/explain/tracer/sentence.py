"""A sentence to trace: through a trained model, to its translation."""

from pathlib import Path

import torch

from clearhead.explain.look import sentence
from clearhead.explain.tracer.tracing import Trace, trace
from clearhead.translation import Translator
from clearhead.translation.loading import load_translator


def trace_text(directory: Path, text: str, target: str | None = None) -> tuple[Trace, str]:
    """One pass over a sentence and `target`, or over what the model makes of it; and both told.

    Raises:
        UserError: the text is blank or longer than the model's positions.
    """
    model, tokenizer = load_translator(directory)
    translator = Translator(model, tokenizer)
    with torch.inference_mode():
        known = sentence(translator, text, target)
        found = trace(model, *known.tensors(model))
    return found, f"{known.text} → {known.translation}"
