"""The seeds' words: their modules as they write them, and what they say about shapes."""

import math

import torch
from torch import Tensor, nn

# The walk-through's "Summary Table", word for word.
SUMMARY = """
| Step | Operation | Output Tensor Shape | Why? |
| :--- | :--- | :--- | :--- |
| 1 | Raw Input `x` | `(batch, seq_len)` | Batch of token IDs |
| 2 | `nn.Embedding` | `(batch, seq_len, d_model)` | Convert IDs to dense vectors |
| 3 | `PositionalEncoding` setup | `(1, max_seq_len, d_model)` | Create a reusable buffer for all positions |
| 4 | **The `forward` pass** | | |
| | Input `x` from Step 2 | `(batch, seq_len, d_model)` | |
| | Slice `pe` buffer | `(1, seq_len, d_model)` | Match the current batch's sequence length |
| | Add `x + pe_slice` | `(batch, seq_len, d_model)` | Broadcasting adds the `(1, ...)` slice to every item in the batch |
"""  # noqa: E501 - as the seed has it

# Its step-by-step walk-through of the same road in numbers: the expression, the shape it gives.
SETUP = [
    ("torch.zeros(max_seq_len, d_model)", "(max_seq_len, d_model)", (5000, 512)),
    ("torch.arange(0, max_seq_len, dtype=torch.float)", "(max_seq_len)", (5000,)),
    ("unsqueeze(1)", "(max_seq_len, 1)", (5000, 1)),
    ("div_term", "(d_model/2)", (256,)),
    ("torch.sin(position * div_term)", "(max_seq_len, d_model/2)", (5000, 256)),
    ("torch.cos(position * div_term)", "(max_seq_len, d_model/2)", (5000, 256)),
    ("pe.unsqueeze(0)", "(1, max_seq_len, d_model)", (1, 5000, 512)),
]

# The arrow comments of its MultiHeadAttentionBlock, in order.
ATTENTION = """
query = self.w_q(q) # (batch, seq_len, d_model)
key = self.w_k(k)   # (batch, seq_len, d_model)
value = self.w_v(v) # (batch, seq_len, d_model)
# (batch, seq_len, d_model) --> (batch, seq_len, h, d_k) --> (batch, h, seq_len, d_k)
# (batch, h, seq_len, d_k) @ (batch, h, d_k, seq_len) --> (batch, h, seq_len, seq_len)
softmax(dim=-1) # (batch, h, seq_len, seq_len)
# (batch, h, seq_len, seq_len) @ (batch, h, seq_len, d_k) --> (batch, h, seq_len, d_k)
# (batch, h, seq_len, d_k) --> (batch, seq_len, h, d_k) --> (batch, seq_len, d_model)
# (batch, seq_len, d_model) --> (batch, seq_len, d_model)
"""

# Chapter 3 prints the shapes of its MultiHeadAttention: d_model=512, num_heads=8, (2, 10, 512).
CHAPTER_3 = {
    "Input shape": (2, 10, 512),
    "Output shape": (2, 10, 512),
    "Attention shape": (2, 8, 10, 10),
}


class InputEmbeddings(nn.Module):
    def __init__(self, d_model: int, vocab_size: int) -> None:
        super().__init__()
        self.d_model = d_model
        self.vocab_size = vocab_size
        self.embedding = nn.Embedding(vocab_size, d_model)

    def forward(self, x: Tensor) -> Tensor:
        return self.embedding(x) * math.sqrt(self.d_model)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_seq_len: int, dropout: float) -> None:
        super().__init__()
        self.d_model = d_model
        self.max_seq_len = max_seq_len
        self.dropout = nn.Dropout(dropout)
        pe = torch.zeros(max_seq_len, d_model)
        position = torch.arange(0, max_seq_len, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        pe = pe.unsqueeze(0)
        self.register_buffer("pe", pe)

    def forward(self, x: Tensor) -> Tensor:
        x = x + (self.pe[:, : x.shape[1], :]).requires_grad_(False)
        return self.dropout(x)


class MultiHeadAttentionBlock(nn.Module):
    def __init__(self, d_model: int, h: int, dropout: float) -> None:
        super().__init__()
        self.d_model = d_model
        self.h = h
        self.d_k = d_model // h
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    @staticmethod
    def attention(query, key, value, mask, dropout):
        d_k = query.shape[-1]
        attention_scores = (query @ key.transpose(-2, -1)) / math.sqrt(d_k)
        if mask is not None:
            attention_scores.masked_fill_(mask == 0, -1e9)
        attention_scores = attention_scores.softmax(dim=-1)
        if dropout is not None:
            attention_scores = dropout(attention_scores)
        return (attention_scores @ value), attention_scores

    def forward(self, q, k, v, mask):
        query = self.w_q(q)
        key = self.w_k(k)
        value = self.w_v(v)
        query = query.view(query.shape[0], query.shape[1], self.h, self.d_k).transpose(1, 2)
        key = key.view(key.shape[0], key.shape[1], self.h, self.d_k).transpose(1, 2)
        value = value.view(value.shape[0], value.shape[1], self.h, self.d_k).transpose(1, 2)
        x, self.attention_scores = MultiHeadAttentionBlock.attention(
            query, key, value, mask, self.dropout
        )
        x = x.transpose(1, 2).contiguous().view(x.shape[0], -1, self.h * self.d_k)
        return self.w_o(x)
