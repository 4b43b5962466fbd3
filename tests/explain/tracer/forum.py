"""Slips of the kinds that people bring to forums, each in the smallest module that has it."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.explain.tracer.broken import D_FF, D_MODEL, HEADS, LONGEST, SRC, TGT, Attention

VOCAB = 23


class LengthOfTheQueryForAll(Attention):
    """`view(batch, length, …)` with the query's length, also for keys of another one."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
        batch, length = q.shape[0], q.shape[1]
        query, key, value = (
            w(x).view(batch, length, self.h, self.d_k).transpose(1, 2)
            for w, x in ((self.w_q, q), (self.w_k, k), (self.w_v, v))
        )
        return self.w_o(self.join(self.score(query, key).softmax(dim=-1) @ value))


class ValueNotSplit(Attention):
    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
        scores = self.score(self.split(self.w_q(q)), self.split(self.w_k(k)))
        return self.w_o(self.join(scores.softmax(dim=-1) @ self.w_v(v)))


class WidthThatHeadsDoNotDivide(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.d_model, self.h = D_MODEL, 5
        self.d_k = self.d_model // self.h

    def forward(self, x: Tensor) -> Tensor:
        return x.view(x.shape[0], x.shape[1], self.h, self.d_k)


class PermuteOfFourAxes(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.permute(0, 2, 1, 3)


class BmmOfFourAxes(Attention):
    def score(self, query: Tensor, key: Tensor) -> Tensor:
        return torch.bmm(query, key.transpose(-2, -1))


class PositionsForAnotherOrder(nn.Module):
    """The table of torch's tutorial is (length, 1, d_model), and this batch comes first."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("pe", torch.zeros(LONGEST, 1, D_MODEL))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.pe[: x.size(1)]


class WholeTriangle(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.block_size = LONGEST
        self.register_buffer("tril", torch.tril(torch.ones(LONGEST, LONGEST)))

    def forward(self, x: Tensor) -> Tensor:
        scores = x @ x.transpose(-2, -1)
        return scores.masked_fill(self.tril == 0, float("-inf")).softmax(dim=-1) @ x


class MaskOfTheWholeTarget(nn.Module):
    """The decoder reads all words but the last; the mask was made for all."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.attention = nn.Embedding(VOCAB, D_MODEL), Attention()

    def forward(self, tgt: Tensor, tgt_mask: Tensor) -> Tensor:
        x = self.embedding(tgt[:, :-1])
        return self.attention(x, x, x, tgt_mask)


class ClassTokenNotExpanded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.d_model = D_MODEL
        self.cls_token = nn.Parameter(torch.zeros(1, 1, D_MODEL))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.cls_token, x], dim=1)


class PositionsWithoutTheClassToken(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cls_token = nn.Parameter(torch.zeros(1, 1, D_MODEL))
        self.pos_embedding = nn.Parameter(torch.zeros(1, TGT, D_MODEL))

    def forward(self, x: Tensor) -> Tensor:
        x = torch.cat([self.cls_token.expand(x.shape[0], -1, -1), x], dim=1)
        return x + self.pos_embedding


class ConvolutionOverWords(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(D_MODEL, D_FF, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x)


class NormOfTheLength(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seq_len, self.d_model = TGT, D_MODEL
        self.norm = nn.LayerNorm(TGT)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x)


class QueryWithoutAxisForKeys(nn.Module):
    """Bahdanau's score of one query, (batch, hidden), and all keys."""

    def __init__(self) -> None:
        super().__init__()
        self.w, self.u = nn.Linear(D_MODEL, D_FF), nn.Linear(D_MODEL, D_FF)

    def forward(self, state: Tensor, encoder_output: Tensor) -> Tensor:
        return torch.tanh(self.w(state) + self.u(encoder_output))


class ConcatenatedIntoAMapForOne(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.combine = nn.Linear(D_MODEL, D_MODEL)

    def forward(self, x: Tensor) -> Tensor:
        return self.combine(torch.cat([x, x.flip(1)], dim=-1))


class WeightNotTransposed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.d_model, self.d_ff = D_MODEL, D_FF
        self.weight = nn.Parameter(torch.zeros(D_FF, D_MODEL))

    def forward(self, x: Tensor) -> Tensor:
        return x @ self.weight


class RecurrentLayerOfAnotherWidth(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.d_model = D_MODEL
        self.rnn = nn.LSTM(D_FF, D_FF, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.rnn(x)[0]


class MoreWordsThanRows(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.word, self.position = nn.Embedding(VOCAB, D_MODEL), nn.Embedding(3, D_MODEL)

    def forward(self, x: Tensor) -> Tensor:
        return self.word(x) + self.position(torch.arange(x.shape[1]))


class ClassesAtTheEnd(nn.Module):
    """`cross_entropy` wants the classes at axis 1."""

    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(logits, target)


class OnlyTheLabelsShifted(nn.Module):
    def forward(self, logits: Tensor, target: Tensor) -> Tensor:
        labels = target[:, 1:]
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten())


class PaddingMaskForTheKernel(nn.Module):
    """(batch, length) where (batch, 1, 1, length) would be laid over the scores."""

    def __init__(self) -> None:
        super().__init__()
        self.h = HEADS

    def forward(self, x: Tensor, src_mask: Tensor) -> Tensor:
        heads = x.unflatten(-1, (self.h, -1)).transpose(1, 2)
        return F.scaled_dot_product_attention(heads, heads, heads, attn_mask=src_mask)


class StackedHeads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.d_model, self.d_k = D_MODEL, D_MODEL // HEADS
        self.heads = nn.ModuleList(nn.Linear(D_MODEL, self.d_k) for _ in range(HEADS))
        self.w_o = nn.Linear(D_MODEL, D_MODEL)

    def forward(self, x: Tensor) -> Tensor:
        return self.w_o(torch.stack([head(x) for head in self.heads]))


class FlattenedClassifier(nn.Module):
    """Trained with sentences of one length, called with another."""

    def __init__(self) -> None:
        super().__init__()
        self.classify = nn.Linear(SRC * D_MODEL, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.classify(x.flatten(1))


class GivenToTorch(nn.Module):
    """`nn.MultiheadAttention`, whose own checks speak before any operation."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(D_FF, 4, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.attention(x, x, x)[0]


class BatchNotFirst(nn.Module):
    """`nn.Transformer` takes (length, batch, d_model) unless it is told otherwise."""

    def __init__(self) -> None:
        super().__init__()
        self.transformer = nn.Transformer(D_MODEL, HEADS, 1, 1, D_FF)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        return self.transformer(src, tgt)


class PaddingMaskTransposed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(D_MODEL, HEADS, batch_first=True)

    def forward(self, x: Tensor, padding: Tensor) -> Tensor:
        return self.attention(x, x, x, key_padding_mask=padding.T)[0]


class SquareMaskForTwoLengths(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(D_MODEL, HEADS, batch_first=True)

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        length = x.shape[1]
        mask = torch.ones(length, length, dtype=torch.bool).triu(1)
        return self.attention(x, memory, memory, attn_mask=mask)[0]


class StateOfAnotherBatch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.GRU(D_MODEL, D_FF, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.rnn(x, torch.zeros(1, 1, D_FF))[0]
