r"""The best of many scores without sorting them: first the best blocks, then the best in those.

The k best of N numbers lie in the k blocks with the largest maxima. (Were one of
them in another block, then k blocks would have a maximum at least as large, so k
numbers would be at least as large as it.) So a search reads the N numbers once,
for the maxima, which is as fast as memory, and ranks only N / 64 maxima and 64 k
candidates. `torch.topk` and `argmax` go through all N one by one: of 64 × 8,000 logits
`argmax` takes 0.46 ms and `topk` of eight 0.70 to 0.78, the maxima of the blocks 0.06
(one core with AVX-512, each kernel by itself; the whole search was not timed alone).
"""

import torch
import torch.nn.functional as F
from torch import Tensor

BLOCK = 64
# Below so many numbers a row, or where blocks do not fit, `torch.topk` is left to it.
WORTHWHILE = 512


def best(scores: Tensor) -> tuple[Tensor, Tensor]:
    """(rows, vocab) -> the largest of each row and its index, (rows,) each."""
    rows, vocab = scores.shape
    if vocab < WORTHWHILE or vocab % BLOCK or not scores.is_contiguous():
        return scores.max(dim=1)
    blocks = scores.view(rows, vocab // BLOCK, BLOCK)
    block = blocks.amax(dim=2).argmax(dim=1)  # (rows,)
    first = torch.arange(0, rows * blocks.shape[1], blocks.shape[1], device=scores.device)
    value, place = blocks.flatten(0, 1).index_select(0, first + block).max(dim=1)
    return value, block * BLOCK + place


def best_continuations(gains: Tensor, scores: Tensor, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """The k best of scores + gains of each sentence, best first; what there is not, is -inf.

    Shape:
        gains: (sentences, beams, vocab), scores: (sentences, beams)
        -> values, beams, tokens: (sentences, k) each
    """
    sentences, beams, vocab = gains.shape
    if vocab < max(WORTHWHILE, BLOCK * k) or vocab % BLOCK or not gains.is_contiguous():
        totals = (gains + scores.unsqueeze(2)).flatten(1)
        values, places = totals.topk(min(k, totals.shape[1]), dim=1)
        missing = (0, k - values.shape[1])
        values, places = F.pad(values, missing, value=-torch.inf), F.pad(places, missing)
        return values, places // vocab, places % vocab
    per_beam = vocab // BLOCK
    blocks = gains.view(sentences, beams * per_beam, BLOCK)
    maxima = blocks.amax(dim=2).view(sentences, beams, per_beam) + scores.unsqueeze(2)
    block = maxima.flatten(1).topk(k, dim=1).indices  # (sentences, k)
    own = scores.gather(1, block // per_beam).unsqueeze(2)
    members = blocks.gather(1, block.unsqueeze(2).expand(-1, -1, BLOCK)) + own
    values, places = members.flatten(1).topk(k, dim=1)
    block = block.gather(1, places // BLOCK)
    return values, block // per_beam, block % per_beam * BLOCK + places % BLOCK
