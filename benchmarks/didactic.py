"""The training step as the teaching sources write it: the baseline that we race against.

Written afresh from their formulas: a scalar layer norm, -1e9 masks in place,
torch's dropout, log-softmax in the projection, cross-entropy over every
position, plain Adam, float32. Nothing is slowed down on purpose.
"""

import math

import torch
from torch import Tensor, nn


class Norm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.alpha, self.bias = nn.Parameter(torch.ones(1)), nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        mean, std = x.mean(-1, keepdim=True), x.std(-1, keepdim=True)
        return self.alpha * (x - mean) / (std + 1e-6) + self.bias


class Attention(nn.Module):
    def __init__(self, d_model: int, h: int, dropout: float) -> None:
        super().__init__()
        self.h, self.d_k = h, d_model // h
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))
        self.dropout = nn.Dropout(dropout)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        query, key, value = (
            self.split(w(x)) for w, x in ((self.w_q, q), (self.w_k, k), (self.w_v, v))
        )
        scores = query @ key.transpose(-2, -1) / math.sqrt(self.d_k)
        scores.masked_fill_(mask == 0, -1e9)
        self.attention_scores = self.dropout(scores.softmax(-1))
        x = (self.attention_scores @ value).transpose(1, 2).contiguous()
        return self.w_o(x.view(x.shape[0], -1, self.h * self.d_k))

    def split(self, x: Tensor) -> Tensor:
        return x.view(x.shape[0], x.shape[1], self.h, self.d_k).transpose(1, 2)


class Block(nn.Module):
    """An encoder block, or with `cross` a decoder block."""

    def __init__(self, d_model: int, h: int, d_ff: int, dropout: float, cross: bool) -> None:
        super().__init__()
        self.attend = Attention(d_model, h, dropout)
        self.cross = Attention(d_model, h, dropout) if cross else None
        self.up, self.down = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        self.norms = nn.ModuleList(Norm() for _ in range(3 if cross else 2))

    def forward(self, x: Tensor, mask: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        y = self.norms[0](x)
        x = x + self.dropout(self.attend(y, y, y, mask))
        if self.cross is not None:
            x = x + self.dropout(self.cross(self.norms[2](x), memory, memory, memory_mask))
        y = self.dropout(torch.relu(self.up(self.norms[1](x))))
        return x + self.dropout(self.down(y))


class Didactic(nn.Module):
    """Encoder and decoder of N blocks over one vocabulary size each."""

    def __init__(self, vocab: int, d_model: int, N: int, h: int, d_ff: int, dropout: float) -> None:
        super().__init__()
        self.d_model = d_model
        self.src_embed, self.tgt_embed = nn.Embedding(vocab, d_model), nn.Embedding(vocab, d_model)
        self.encoder = nn.ModuleList(Block(d_model, h, d_ff, dropout, False) for _ in range(N))
        self.decoder = nn.ModuleList(Block(d_model, h, d_ff, dropout, True) for _ in range(N))
        self.norms = nn.ModuleList((Norm(), Norm()))
        self.proj = nn.Linear(d_model, vocab)
        self.dropout = nn.Dropout(dropout)
        angle = torch.arange(512)[:, None] * torch.exp(
            torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model)
        )
        self.register_buffer("pe", torch.stack((angle.sin(), angle.cos()), -1).flatten(1)[None])

    def forward(self, src: Tensor, tgt: Tensor, src_mask: Tensor, tgt_mask: Tensor) -> Tensor:
        x = self.place(self.src_embed(src))
        for block in self.encoder:
            x = block(x, src_mask, x, src_mask)
        memory, x = self.norms[0](x), self.place(self.tgt_embed(tgt))
        for block in self.decoder:
            x = block(x, tgt_mask, memory, src_mask)
        return torch.log_softmax(self.proj(self.norms[1](x)), dim=-1)

    def place(self, x: Tensor) -> Tensor:
        return self.dropout(x * math.sqrt(self.d_model) + self.pe[:, : x.shape[1]])
