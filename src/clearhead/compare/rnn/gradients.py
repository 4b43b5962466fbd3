r"""Vanishing made visible: how much of a word's influence survives the way to the output.

The output is the decoder's first vector y; x_j is the embedded source word j. The norm of the
Jacobian dy / dx_j says how strongly y answers to a change of x_j. In an RNN it is a product of
one factor a step between them (Hochreiter 1991; Bengio et al. 1994): what is multiplied 512
times by 0.9 is gone, and what is gone cannot be learnt from.

The Frobenius norm of a Jacobian with m rows is, for random unit directions r,

.. math:: \lVert J \rVert_F^2 = m \; E \lVert J^\top r \rVert^2

so one backward pass with a direction a row of the batch is enough.
"""

from typing import cast

import torch
from torch import Tensor, nn

from clearhead.blocks import padding_mask
from clearhead.compare.rnn.entrants import Model
from clearhead.models import Transformer


def gradient_by_distance(model: Model, longest: int, rows: int, seed: int) -> list[float]:
    """Norms of the Jacobian by the distance 1, 2, … `longest` of the source word.

    Distance 1 is the last source word. float64, for 1e-40 is a number to be shown, not a zero.
    The model is cast to float64 and put into eval mode: give one that is yours to change.
    """
    model = model.double().eval()
    config = model.config
    generator = torch.Generator().manual_seed(seed)
    first = max(config.pad_id, config.bos_id, config.eos_id) + 1
    src = torch.randint(first, config.src_vocab_size, (rows, longest), generator=generator)
    directions = torch.randn(rows, config.d_model, generator=generator, dtype=torch.float64)
    directions /= directions.norm(dim=-1, keepdim=True)
    gradient = source_gradient(model, src, directions)
    squares = gradient.square().sum(-1).mean(0) * config.d_model  # (src_len,)
    return cast(list[float], squares.sqrt().flip(0).tolist())


def source_gradient(model: Model, src: Tensor, directions: Tensor) -> Tensor:
    """Gradient of first output vector · direction in each row's embedded source words.

    Shape:
        src: (rows, src_len), directions: (rows, d_model) -> (rows, src_len, d_model)
    """
    mask = padding_mask(src, model.config.pad_id)
    begin = torch.full((len(src), 1), model.config.bos_id)
    embedded: list[Tensor] = []

    def keep(module: nn.Module, inputs: object, output: Tensor) -> None:
        embedded.append(output)

    handle = model.src_embed.register_forward_hook(keep)
    try:
        # Both kinds are called alike; to a type checker one of them speaks for both.
        one = cast(Transformer, model)
        first = one.decode(one.encode(src, mask), mask, begin)[:, 0]  # (rows, d_model)
    finally:
        handle.remove()
    (gradient,) = torch.autograd.grad((first * directions).sum(), embedded)
    return gradient
