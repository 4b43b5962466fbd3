"""A matrix that learns through a narrow side door: LoRA (Hu et al. 2021, section 4.1)."""

import torch
from torch import Tensor, nn

from clearhead.errors import UserError


class LowRankLinear(nn.Module):
    r"""A frozen matrix, and beside it two thin ones that learn what is to be different.

    .. math:: h = W x + b + \tfrac{\alpha}{r} \, B A x

    (equation 3, with the factor of section 4.1.) B begins at zero, so before training this is
    W x + b to the last bit; A begins as any `nn.Linear` does. Why it works: what a task asks of
    a trained matrix is a change of low rank, so r · (in + out) numbers learn what in · out would.

    Attributes:
        linear: W and b, the very module that was given; they take no gradient any more.
        down, up: A, (r, in), and B, (out, r).
        scale: alpha / r.

    Shape:
        x: (..., in) -> (..., out)

    Raises:
        UserError: a rank below 1 or beyond the smaller side of W, which would be no economy.
    """

    def __init__(self, linear: nn.Linear, rank: int, alpha: float, dropout: float = 0.0) -> None:
        super().__init__()
        narrow = min(linear.in_features, linear.out_features)
        if not 1 <= rank <= narrow:
            raise UserError(
                f"rank={rank} does not do for a matrix of {linear.out_features} by "
                f"{linear.in_features}; give one from 1 to {narrow}, 8 for example"
            )
        self.linear = linear.requires_grad_(False)
        self.dropout = nn.Dropout(dropout)
        place = linear.weight.device
        self.down = nn.Linear(linear.in_features, rank, bias=False, device=place)
        self.up = nn.Linear(rank, linear.out_features, bias=False, device=place)
        nn.init.zeros_(self.up.weight)
        self.scale = alpha / rank

    def forward(self, x: Tensor) -> Tensor:
        """What the frozen matrix says, and what was learned beside it."""
        # (..., in) -> (..., r) -> (..., out)
        return self.linear(x) + self.scale * self.up(self.down(self.dropout(x)))

    @torch.no_grad()
    def merged(self) -> nn.Linear:
        r"""One ordinary matrix that does the same, :math:`W + \frac{\alpha}{r} B A`."""
        has_bias = self.linear.bias is not None
        whole = nn.utils.skip_init(
            nn.Linear, self.linear.in_features, self.linear.out_features, bias=has_bias,
            device=self.linear.weight.device, dtype=self.linear.weight.dtype,
        )  # fmt: skip
        learned = self.scale * (self.up.weight.float() @ self.down.weight.float())
        whole.weight.copy_(self.linear.weight.float() + learned)
        if has_bias:
            whole.bias.copy_(self.linear.bias)
        return whole.train(self.training)

    def extra_repr(self) -> str:
        """The sizes, for `print`."""
        return f"rank={self.down.out_features}, scale={self.scale:g}"
