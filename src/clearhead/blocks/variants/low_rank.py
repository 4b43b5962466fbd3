"""Low-rank adapters for linear layers: LoRA (Hu et al. 2021, section 4.1)."""

import torch
from torch import Tensor, nn

from clearhead.errors import UserError


class LowRankLinear(nn.Module):
    r"""A frozen linear layer plus a trainable update of low rank.

    .. math:: h = W x + b + \tfrac{\alpha}{r} \, B A x

    (Equation 3, with the factor of section 4.1.) B is initialized to zero, so before training
    the output equals W x + b bit for bit; A is initialized as any `nn.Linear`. Fine-tuning
    changes a trained matrix by an update of low rank, so r · (in + out) parameters suffice
    where full fine-tuning trains in · out.

    Attributes:
        linear: W and b, the given module; its parameters are frozen.
        down, up: A, (r, in), and B, (out, r).
        scale: alpha / r.

    Shape:
        x: (..., in) -> (..., out)

    Raises:
        UserError: the rank is below 1 or above the smaller dimension of W.
    """

    def __init__(self, linear: nn.Linear, rank: int, alpha: float, dropout: float = 0.0) -> None:
        super().__init__()
        check_rank(rank, linear)
        self.linear = linear.requires_grad_(False)
        self.dropout = nn.Dropout(dropout)
        device, dtype = linear.weight.device, linear.weight.dtype
        self.down = nn.Linear(linear.in_features, rank, bias=False, device=device, dtype=dtype)
        self.up = nn.Linear(rank, linear.out_features, bias=False, device=device, dtype=dtype)
        nn.init.zeros_(self.up.weight)
        self.scale = alpha / rank

    def forward(self, x: Tensor) -> Tensor:
        """The frozen layer plus the scaled update."""
        # (..., in) -> (..., r) -> (..., out)
        return self.linear(x) + self.scale * self.up(self.down(self.dropout(x)))

    @torch.no_grad()
    def merged(self) -> nn.Linear:
        r"""One equivalent linear layer with the matrix :math:`W + \frac{\alpha}{r} B A`."""
        has_bias = self.linear.bias is not None
        whole = nn.utils.skip_init(
            nn.Linear, self.linear.in_features, self.linear.out_features, bias=has_bias,
            device=self.linear.weight.device, dtype=self.linear.weight.dtype,
        )  # fmt: skip
        exact = torch.promote_types(whole.weight.dtype, torch.float32)
        learned = self.scale * (self.up.weight.to(exact) @ self.down.weight.to(exact))
        whole.weight.copy_(self.linear.weight.to(exact) + learned)
        if has_bias:
            whole.bias.copy_(self.linear.bias)
        return whole.train(self.training)

    def extra_repr(self) -> str:
        """The sizes, for `print`."""
        return f"rank={self.down.out_features}, scale={self.scale:g}"


def check_rank(rank: int, linear: nn.Linear) -> None:
    """The rank of an update is at least 1 and at most the smaller dimension of the matrix.

    Raises:
        UserError: it is not; the possible ranks are named.
    """
    narrow = min(linear.in_features, linear.out_features)
    if not 1 <= rank <= narrow:
        raise UserError(
            f"rank={rank} is not possible for a matrix of {linear.out_features} by "
            f"{linear.in_features}; give one from 1 to {narrow}"
        )
