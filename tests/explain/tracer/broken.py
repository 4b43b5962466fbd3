"""A learner's modules, as the seeds write them, each with one mistake in its shapes."""

import math

import torch
from torch import Tensor, nn

BATCH, HEADS, SRC, TGT, D_K, LONGEST, D_FF = 2, 3, 7, 5, 4, 11, 20
D_MODEL = HEADS * D_K


class Attention(nn.Module):
    """The step-by-step guide's block, in pieces that a mistake can replace."""

    def __init__(self, d_model: int = D_MODEL, h: int = HEADS) -> None:
        super().__init__()
        self.d_model, self.h, self.d_k = d_model, h, d_model // h
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
        query, key, value = (
            self.split(self.w_q(q)),
            self.split(self.w_k(k)),
            self.split(self.w_v(v)),
        )
        scores = self.score(query, key)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        return self.w_o(self.join(scores.softmax(dim=-1) @ value))

    def split(self, x: Tensor) -> Tensor:
        return x.view(x.shape[0], x.shape[1], self.h, self.d_k).transpose(1, 2)

    def score(self, query: Tensor, key: Tensor) -> Tensor:
        return query @ key.transpose(-2, -1) / math.sqrt(self.d_k)

    def join(self, x: Tensor) -> Tensor:
        return x.transpose(1, 2).contiguous().view(x.shape[0], -1, self.h * self.d_k)


class KeyNotTransposed(Attention):
    def score(self, query: Tensor, key: Tensor) -> Tensor:
        return query @ key / math.sqrt(self.d_k)


class KeyTransposedWrongly(Attention):
    def score(self, query: Tensor, key: Tensor) -> Tensor:
        return query @ key.transpose(1, 2) / math.sqrt(self.d_k)


class HeadsNotSplit(Attention):
    def split(self, x: Tensor) -> Tensor:
        return x.transpose(1, 2)


class HeadsNotJoined(Attention):
    def join(self, x: Tensor) -> Tensor:
        return x


class JoinedWithoutContiguous(Attention):
    def join(self, x: Tensor) -> Tensor:
        x = x.transpose(1, 2)
        return x.view(x.shape[0], -1, self.h * self.d_k)


class SplitIntoWholeWidths(Attention):
    def split(self, x: Tensor) -> Tensor:
        return x.view(x.shape[0], x.shape[1], self.h, self.d_model).transpose(1, 2)


class QueryWithoutHeadsInFront(Attention):
    def score(self, query: Tensor, key: Tensor) -> Tensor:
        return query.transpose(1, 2) @ key.transpose(-2, -1) / math.sqrt(self.d_k)


class NormWithoutKeepdim(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return (x - x.mean(dim=-1)) / x.std(dim=-1)


class WholeTableAdded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seq_len = LONGEST
        self.register_buffer("pe", torch.zeros(1, LONGEST, D_MODEL))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.pe


class FeedForwardNeverNarrows(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear_1 = nn.Linear(D_MODEL, D_FF)
        self.linear_2 = nn.Linear(D_FF, D_MODEL)

    def forward(self, x: Tensor) -> Tensor:
        return x + torch.relu(self.linear_1(x))


class FeedForwardSwapped(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.d_model, self.d_ff = D_MODEL, D_FF
        self.linear_1 = nn.Linear(D_MODEL, D_FF)
        self.linear_2 = nn.Linear(D_MODEL, D_FF)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear_2(torch.relu(self.linear_1(x)))


class CrossAttentionWithForeignValues(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cross = Attention()

    def forward(self, x: Tensor, encoder_output: Tensor) -> Tensor:
        return self.cross(x, encoder_output, x)


class SourceMaskOnTheTarget(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = Attention()

    def forward(self, x: Tensor, src_mask: Tensor, tgt_mask: Tensor) -> Tensor:
        return self.attention(x, x, x, src_mask)


class HeadsJoinedAlongTheWrongAxis(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.d_model, self.d_k = D_MODEL, D_K
        self.heads = nn.ModuleList(nn.Linear(D_MODEL, D_K) for _ in range(HEADS))
        self.w_o = nn.Linear(D_MODEL, D_MODEL)

    def forward(self, x: Tensor) -> Tensor:
        return self.w_o(torch.cat([head(x) for head in self.heads], dim=1))


class SourceAndTargetAdded(nn.Module):
    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        return src + tgt


class ForgotTheHeads(Attention):
    def join(self, x: Tensor) -> Tensor:
        return x.transpose(1, 2).contiguous().view(x.shape[0], x.shape[2], self.d_k)


class SineOfAnOddWidth(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.d_model = 9

    def forward(self, x: Tensor) -> Tensor:
        pe = torch.zeros(x.shape[1], self.d_model)
        position = torch.arange(0, x.shape[1]).unsqueeze(1)
        pe[:, 1::2] = torch.cos(position * torch.arange(0, self.d_model, 2))
        return x + pe
