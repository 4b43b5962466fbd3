"""The residual stream after every layer: the logit lens, and its norms.

The residual stream has the same width after every layer, so the final norm and the projection
can be applied anywhere: the logit lens (nostalgebraist 2020, "interpreting GPT: the logit
lens"). Early layers were never trained for this; take their predictions as a hint.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from clearhead.decoding.readable import in_eval_mode
from clearhead.explain.attention import SentencePair, activations
from clearhead.models import Transformer

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
    stream = activations(model, pair, *DECODER)
    with in_eval_mode(model), torch.inference_mode():
        read = [model.project(norm(state))[0].cpu() for state in stream.values()]
    return Lens(torch.stack(read), tuple(pair.written))


def norms_by_depth(model: Transformer, pair: SentencePair) -> dict[str, list[list[float]]]:
    """For "encoder" and "decoder": the norm at every token after 0, 1, 2 … layers."""
    stream = activations(model, pair, *ENCODER, *DECODER)
    prefixes = {"encoder": ("src_pos", "encoder."), "decoder": ("tgt_pos", "decoder.")}
    return {
        stack: [stream[path][0].norm(dim=-1).tolist() for path in stream if path.startswith(prefix)]
        for stack, prefix in prefixes.items()
    }
