"""A sentence to trace: through a trained model, to its translation."""

from pathlib import Path

import torch

from clearhead.explain.look import sentence
from clearhead.explain.tracer.tracing import Trace, trace
from clearhead.models import Transformer
from clearhead.text import Tokenizer
from clearhead.translation import Translator


def trace_text(directory: Path, text: str, target: str | None = None) -> tuple[Trace, str]:
    """One pass over a sentence and `target`, or over what the model makes of it; and both told.

    Raises:
        UserError: the text is blank or longer than the model's positions.
    """
    model = Transformer.from_pretrained(directory)
    translator = Translator(model, Tokenizer.load(directory))
    with torch.inference_mode():
        known = sentence(translator, text, target)
        found = trace(model, *known.tensors(model))
    return found, f"{known.text} → {known.translation}"
