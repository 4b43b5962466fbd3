"""LoRA on the attention of any model: add low-rank matrices to its projections, and merge them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from torch import nn

from clearhead.blocks.attention import MultiHeadAttentionBlock
from clearhead.blocks.variants.low_rank import LowRankLinear, check_rank
from clearhead.errors import UserError

Model = TypeVar("Model", bound=nn.Module)
PROJECTIONS = ("w_q", "w_k", "w_v", "w_o")


@dataclass(frozen=True)
class Adaptation:
    """Which projections are trained, and the rank of their update.

    The default is the paper's choice for a given number of parameters: queries and values
    (Hu et al. 2021, section 7.1).

    Raises:
        UserError: a rank below 1, or a projection that attention does not have.
    """

    rank: int = 8
    alpha: float = 16.0
    dropout: float = 0.0
    projections: tuple[str, ...] = ("w_q", "w_v")

    def __post_init__(self) -> None:
        if not isinstance(self.rank, int) or self.rank < 1:
            raise UserError(f"rank={self.rank} is not a whole number of at least 1; give 8")
        unknown = [name for name in self.projections if name not in PROJECTIONS]
        if unknown or not self.projections:
            named = repr(unknown[0]) if unknown else "none at all"
            raise UserError(
                f"attention has no projection {named} to adapt; "
                f"choose from {', '.join(PROJECTIONS)}"
            )


def adapt(model: Model, how: Adaptation) -> Model:
    """Freeze the model and put `LowRankLinear` around those projections, in place.

    Its outputs are the same to the last bit until the first step of training.

    Raises:
        UserError: the model is adapted already, has no attention, or its matrices are too small
            for the rank; then it stays as it was.
    """
    blocks = list(_attentions(model))
    if not blocks:
        raise UserError(f"a {type(model).__name__} has no attention to adapt; train it whole")
    if any(isinstance(module, LowRankLinear) for module in model.modules()):
        raise UserError("the model is adapted already; merge it before you adapt it again")
    chosen = [(block, name) for block in blocks for name in dict.fromkeys(how.projections)]
    for block, name in chosen:
        check_rank(how.rank, getattr(block, name))
    model.requires_grad_(False)
    for block, name in chosen:
        narrow = LowRankLinear(getattr(block, name), how.rank, how.alpha, how.dropout)
        setattr(block, name, narrow.train(block.training))
    return model


def merge(model: Model) -> Model:
    """Add what was learned to the matrices themselves, in place.

    The result is an ordinary model again, and all its parameters are trainable.
    """
    for module in list(model.modules()):
        for name, child in module.named_children():
            if isinstance(child, LowRankLinear):
                setattr(module, name, child.merged())
    return model.requires_grad_()


def adapted_parts(model: nn.Module) -> Iterator[tuple[str, LowRankLinear]]:
    """Every adapted projection with its readable path."""
    for path, module in model.named_modules():
        if isinstance(module, LowRankLinear):
            yield path, module


def _attentions(model: nn.Module) -> Iterator[MultiHeadAttentionBlock]:
    return (module for module in model.modules() if isinstance(module, MultiHeadAttentionBlock))
