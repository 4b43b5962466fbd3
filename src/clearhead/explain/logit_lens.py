"""What the decoder would say if it stopped after layer 0, 1, 2 …: the logit lens.

The residual stream has one shape all the way, so what reads its end can read it anywhere:
the last norm, then the projection (nostalgebraist 2020, "interpreting GPT: the logit lens").
Early layers were never trained to be read so; take them as a hint.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from clearhead.decoding.search import in_eval_mode
from clearhead.explain.capture import capture
from clearhead.explain.look import Sentence
from clearhead.models import Transformer

STREAM = "tgt_pos", "decoder.layers.*"


@dataclass(frozen=True)
class Lens:
    """After 0 (embedding and position), 1, 2 … layers, at every place of the translation.

    Shape:
        log_probabilities: (layers + 1, tgt_len, vocab); its last is the model's own output
        written: (tgt_len,) the ids that should be written
    """

    log_probabilities: Tensor
    written: tuple[int, ...]

    def best(self) -> Tensor:
        """(layers + 1, tgt_len) the likeliest token."""
        return self.log_probabilities.argmax(-1)

    def probability_of_best(self) -> Tensor:
        """(layers + 1, tgt_len) how likely it is."""
        return self.log_probabilities.max(-1).values.exp()

    def rank_of_written(self) -> Tensor:
        """(layers + 1, tgt_len) how many tokens are likelier than the one that is written."""
        ids = torch.tensor(self.written).expand(len(self.log_probabilities), -1).unsqueeze(-1)
        own = self.log_probabilities.gather(-1, ids)
        return (self.log_probabilities > own).sum(-1)


def logit_lens(model: Transformer, known: Sentence) -> Lens:
    """Lead the model along the translation and read its stream after every layer."""
    norm = model.decoder.get_submodule("norm")
    with in_eval_mode(model), torch.inference_mode(), capture(model, *STREAM) as seen:
        src, tgt, src_mask, tgt_mask = known.tensors(model)
        model.decode(model.encode(src, src_mask), src_mask, tgt, tgt_mask)
        read = [model.project(norm(stream))[0].cpu() for stream in seen.values()]
    return Lens(torch.stack(read), tuple(known.written))
