"""The baseline: training as the teaching sources write it.

Written from their formulas: a layer norm with scalar α and bias, -1e9 in masked scores, torch's
dropout, log-softmax in the projection, cross-entropy over every position, plain Adam, float32,
and every sentence padded to one length. Nothing is slowed down on purpose.
"""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from clearhead.blocks import PositionalEncoding, decoder_mask, padding_mask, shift_right
from clearhead.compare.timing import Candidate
from clearhead.compare.workloads import LEARNING_RATE, SMOOTHING, TrainingTask
from clearhead.data.encoded import EncodedCorpus
from clearhead.models import TransformerConfig

NAME = "didactic baseline, float32"


class Norm(nn.Module):
    """Layer normalization with one α and one bias for all features."""

    def __init__(self) -> None:
        super().__init__()
        self.alpha, self.bias = nn.Parameter(torch.ones(1)), nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        """Normalizes the last axis."""
        mean, std = x.mean(-1, keepdim=True), x.std(-1, keepdim=True)
        return self.alpha * (x - mean) / (std + 1e-6) + self.bias


class Attention(nn.Module):
    """Multi-head attention that always stores its weights."""

    def __init__(self, d_model: int, h: int, dropout: float) -> None:
        super().__init__()
        self.h, self.d_k = h, d_model // h
        self.w_q, self.w_k, self.w_v, self.w_o = (nn.Linear(d_model, d_model) for _ in range(4))
        self.dropout = nn.Dropout(dropout)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        """(batch, query, d_model), 2 × (batch, key, d_model) -> (batch, query, d_model)."""
        query, key, value = (
            self.split(w(x)) for w, x in ((self.w_q, q), (self.w_k, k), (self.w_v, v))
        )
        scores = query @ key.transpose(-2, -1) / math.sqrt(self.d_k)
        scores.masked_fill_(mask == 0, -1e9)
        self.attention_scores = self.dropout(scores.softmax(-1))
        x = (self.attention_scores @ value).transpose(1, 2).contiguous()
        return self.w_o(x.view(x.shape[0], -1, self.h * self.d_k))

    def split(self, x: Tensor) -> Tensor:
        """(batch, seq_len, d_model) -> (batch, h, seq_len, d_k)."""
        return x.view(x.shape[0], x.shape[1], self.h, self.d_k).transpose(1, 2)


class Block(nn.Module):
    """An encoder block, or with `cross` a decoder block; pre-norm."""

    def __init__(self, d_model: int, h: int, d_ff: int, dropout: float, cross: bool) -> None:
        super().__init__()
        self.attend = Attention(d_model, h, dropout)
        self.cross = Attention(d_model, h, dropout) if cross else None
        self.up, self.down = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        self.norms = nn.ModuleList(Norm() for _ in range(3 if cross else 2))

    def forward(self, x: Tensor, mask: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        """Self-attention, in a decoder cross-attention, then the feed-forward network."""
        y = self.norms[0](x)
        x = x + self.dropout(self.attend(y, y, y, mask))
        if self.cross is not None:
            x = x + self.dropout(self.cross(self.norms[2](x), memory, memory, memory_mask))
        y = self.dropout(torch.relu(self.up(self.norms[1](x))))
        return x + self.dropout(self.down(y))


class Didactic(nn.Module):
    """Encoder and decoder without tied embeddings."""

    def __init__(self, c: TransformerConfig) -> None:
        super().__init__()
        self.d_model = d_model = c.d_model
        sizes = (d_model, c.h, c.d_ff, c.dropout)
        self.src_embed = nn.Embedding(c.src_vocab_size, d_model)
        self.tgt_embed = nn.Embedding(c.tgt_vocab_size, d_model)
        self.encoder = nn.ModuleList(Block(*sizes, False) for _ in range(c.encoder_layers))
        self.decoder = nn.ModuleList(Block(*sizes, True) for _ in range(c.decoder_layers))
        self.norms = nn.ModuleList((Norm(), Norm()))
        self.proj = nn.Linear(d_model, c.tgt_vocab_size)
        self.position = PositionalEncoding(d_model, max(c.src_seq_len, c.tgt_seq_len), c.dropout)

    def forward(self, src: Tensor, tgt: Tensor, src_mask: Tensor, tgt_mask: Tensor) -> Tensor:
        """Log-probabilities, (batch, tgt_len, vocab)."""
        x = self.with_positions(self.src_embed(src))
        for block in self.encoder:
            x = block(x, src_mask, x, src_mask)
        memory, x = self.norms[0](x), self.with_positions(self.tgt_embed(tgt))
        for block in self.decoder:
            x = block(x, tgt_mask, memory, src_mask)
        return torch.log_softmax(self.proj(self.norms[1](x)), dim=-1)

    def with_positions(self, x: Tensor) -> Tensor:
        """Scaled embeddings plus the positional encoding."""
        return self.position(x * math.sqrt(self.d_model))


class DidacticStep:
    """Forward pass, cross-entropy, backward pass, Adam."""

    def __init__(self, config: TransformerConfig, device: torch.device) -> None:
        self.config = config
        self.model = Didactic(config).to(device).train()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=LEARNING_RATE, eps=1e-9)
        self.criterion = nn.CrossEntropyLoss(ignore_index=config.pad_id, label_smoothing=SMOOTHING)

    def __call__(self, source: Tensor, labels: Tensor) -> float:
        """(batch, src_len) and (batch, tgt_len) ids -> the number of labels, padding included."""
        pad_id = self.config.pad_id
        tgt = shift_right(labels, self.config.bos_id)
        output = self.model(source, tgt, padding_mask(source, pad_id), decoder_mask(tgt, pad_id))
        self.criterion(output.view(-1, output.shape[-1]), labels.view(-1)).backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return labels.numel()


def candidates(task: TrainingTask) -> list[Candidate]:
    """The step on the task's batch."""
    return [Candidate(NAME, partial(DidacticStep(task.config, task.device), *task.batch()))]


class FixedLength(Dataset[tuple[Tensor, Tensor]]):
    """Pairs of ids with EOS, padded to one length: (seq_len,) each."""

    def __init__(self, corpus: EncodedCorpus, config: TransformerConfig, seq_len: int) -> None:
        self.corpus, self.config, self.seq_len = corpus, config, seq_len

    def __len__(self) -> int:
        return len(self.corpus)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        source, target = self.corpus.get(np.array([index]))[0]
        return self._padded(source.tolist()), self._padded(target.tolist())

    def _padded(self, ids: list[int]) -> Tensor:
        padding = [self.config.pad_id] * (self.seq_len - len(ids) - 1)
        return torch.tensor([*ids, self.config.eos_id, *padding], dtype=torch.long)


class DidacticLoop:
    """Training epoch after epoch; each `step` returns the number of target tokens."""

    def __init__(
        self, corpus: EncodedCorpus, config: TransformerConfig, rows: int, seq_len: int
    ) -> None:
        data = FixedLength(corpus, config, seq_len)
        self.loader = DataLoader(data, batch_size=rows, shuffle=True)
        self.train = DidacticStep(config, torch.device("cpu"))
        self.pad_id = config.pad_id
        self.batches = self._batches()

    def step(self) -> float:
        """Train on the next batch; padding is not counted."""
        source, labels = next(self.batches)
        self.train(source, labels)
        return float((labels != self.pad_id).sum())

    def _batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        while True:
            yield from self.loader
