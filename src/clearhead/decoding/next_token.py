"""One step of any search: scores for the next token, and what may not come next."""

import torch
from torch import Tensor

from clearhead.decoding.engine import Engine
from clearhead.decoding.ngrams import ban_repeated_ngrams
from clearhead.decoding.options import DecodingOptions

# Logits are made and used for so many rows at a time: 64 × 8,000 of them stay in the
# processor's cache, and the memory of 2 MB is taken and given back without the system's help.
ROWS_AT_ONCE = 64


class NextToken:
    """The model as a search sees it: tokens in, scores of the next token out."""

    def __init__(self, engine: Engine, options: DecodingOptions) -> None:
        self.engine, self.options, self.config = engine, options, engine.config
        self.decoder = engine.new_decoder()
        signs = [engine.config.pad_id, engine.config.bos_id]
        self.unwritable = torch.tensor(signs, device=engine.device)

    def hidden(self, last: Tensor) -> Tensor:
        """(rows,) the last tokens -> (rows, d_model)."""
        return self.decoder.step(last)

    def logits(self, hidden: Tensor) -> Tensor:
        """(rows, d_model) -> (rows, vocab), float32."""
        return self.engine.logits(hidden).float()

    def ban(self, logits: Tensor, history: Tensor, ages: Tensor) -> None:
        """Set to -inf, in place, what must not be written after `history`.

        These are the padding and begin signs, the end sign before `min_length`
        tokens, and repetitions. Where nothing else is left the end sign is free.

        Shape: logits (rows, vocab), history (rows, room), ages (rows,) how much of it is written
        """
        eos_id, n = self.config.eos_id, self.options.no_repeat_ngram
        ending = logits[:, eos_id].clone() if n else logits
        logits.index_fill_(1, self.unwritable, -torch.inf)
        if self.options.min_length:
            logits[:, eos_id].masked_fill_(ages < self.options.min_length, -torch.inf)
        if n:  # sentences of different ages are never side by side then
            ban_repeated_ngrams(logits, history[:, : int(ages.max())], n)
            stuck = logits.amax(dim=1) == -torch.inf
            logits[stuck, eos_id] = ending[stuck]
