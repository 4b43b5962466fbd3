"""One step of any search: scores for the next token, and what may not come next."""

from typing import cast

import torch
from torch import Tensor

from clearhead.decoding.ngrams import ban_repeated_ngrams
from clearhead.decoding.options import DecodingOptions
from clearhead.fast.incremental import IncrementalDecoder
from clearhead.models import Transformer


class NextToken:
    """The model as a search sees it: tokens in, scores of the next token out."""

    def __init__(self, model: Transformer, options: DecodingOptions) -> None:
        self.model, self.options, self.config = model, options, model.config
        self.decoder = IncrementalDecoder(model)
        # Log-probabilities are logits too: a projection without `logits` serves as well.
        self.project = getattr(model.projection_layer, "logits", model.projection_layer)

    def logits(self, last: Tensor) -> Tensor:
        """(rows,) the last tokens -> (rows, vocab), float32."""
        return cast(Tensor, self.project(self.decoder.step(last))).float()

    def ban(self, logits: Tensor, history: Tensor) -> None:
        """Set to -inf, in place, what must not be written after `history` (rows, written).

        These are the padding and begin signs, the end sign before `min_length`
        tokens, and repetitions. Where nothing else is left the end sign is free.
        """
        ending = logits[:, self.config.eos_id].clone()
        logits[:, [self.config.pad_id, self.config.bos_id]] = -torch.inf
        if history.shape[1] < self.options.min_length:
            logits[:, self.config.eos_id] = -torch.inf
        if self.options.no_repeat_ngram:
            ban_repeated_ngrams(logits, history, self.options.no_repeat_ngram)
            stuck = logits.amax(dim=1) == -torch.inf
            logits[stuck, self.config.eos_id] = ending[stuck]
