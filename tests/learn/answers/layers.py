"""Embeddings, positions, norms, feed-forward networks, residual connections, projections."""

LOOKUP = """
import torch
from torch import nn

class InputEmbeddings(nn.Module):
    def __init__(self, d_model, vocab_size):
        super().__init__()
        self.d_model, self.vocab_size = d_model, vocab_size
        self.table = nn.Parameter(torch.randn(vocab_size, d_model))

    def forward(self, ids):
        return self.table[ids] * self.d_model ** 0.5
"""
ON_THE_FLY = """
import math
import torch
from torch import nn

class PositionalEncoding(nn.Module):
    def __init__(self, d_model, seq_len, dropout):
        super().__init__()
        self.d_model = d_model
        self.drop = nn.Dropout(p=dropout)

    def forward(self, x):
        n = x.size(1)
        pos = torch.arange(n, device=x.device).float().unsqueeze(1)
        c = torch.arange(self.d_model, device=x.device)
        angle = pos / torch.pow(torch.tensor(10000.0), (c - c % 2).float() / self.d_model)
        pe = torch.where(c % 2 == 0, angle.sin(), angle.cos())
        return self.drop(x + pe)
"""
SEED_POSITIONS = """
import math
import torch
from torch import nn

class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, seq_len: int, dropout: float) -> None:
        super().__init__()
        self.d_model = d_model
        self.seq_len = seq_len
        self.dropout = nn.Dropout(dropout)
        pe = torch.zeros(seq_len, d_model)
        position = torch.arange(0, seq_len, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)[:, : d_model // 2]
        pe = pe.unsqueeze(0)
        self.register_buffer('pe', pe)

    def forward(self, x):
        x = x + (self.pe[:, :x.shape[1], :]).requires_grad_(False)
        return self.dropout(x)
"""
FROZEN = SEED_POSITIONS.replace(
    "self.register_buffer('pe', pe)", "self.pe = nn.Parameter(pe, requires_grad=False)"
)
SEED_NORM = """
import torch
import torch.nn as nn

class LayerNormalization(nn.Module):
    def __init__(self, eps: float = 10**-6) -> None:
        super().__init__()
        self.eps = eps
        self.alpha = nn.Parameter(torch.ones(1))
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        std = x.std(dim=-1, keepdim=True)
        return self.alpha * (x - mean) / (std + self.eps) + self.bias
"""
SCALAR_NORM = SEED_NORM.replace("eps: float = 10**-6", "features: int, eps: float = 10**-6")
CONVOLUTION = """
from torch import nn

class FeedForwardBlock(nn.Module):
    def __init__(self, d_model, d_ff, dropout):
        super().__init__()
        self.conv1 = nn.Conv1d(d_model, d_ff, kernel_size=1)
        self.conv2 = nn.Conv1d(d_ff, d_model, kernel_size=1)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        y = self.conv2(self.dropout(self.conv1(x.transpose(1, 2)).clamp(min=0)))
        return y.transpose(1, 2)
"""
MATRICES = """
import torch
from torch import nn

class FeedForwardBlock(nn.Module):
    def __init__(self, d_model, d_ff, dropout):
        super().__init__()
        self.W1 = nn.Parameter(torch.randn(d_model, d_ff))
        self.b1 = nn.Parameter(torch.zeros(d_ff))
        self.W2 = nn.Parameter(torch.randn(d_ff, d_model))
        self.b2 = nn.Parameter(torch.zeros(d_model))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        hidden = torch.max(x @ self.W1 + self.b1, torch.zeros(()).to(x))
        return self.dropout(hidden) @ self.W2 + self.b2
"""
RESIDUAL = """
from torch import nn
from clearhead.blocks import LayerNormalization

class ResidualConnection(nn.Module):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.layer_norm = LayerNormalization()

    def forward(self, x, sublayer):
        residual = x
        x = self.layer_norm(x)
        x = sublayer(x)
        x = self.drop(x)
        return x + residual
"""
OWN_NORM = RESIDUAL.replace(
    "from clearhead.blocks import LayerNormalization\n",
    SEED_NORM.replace("import torch.nn as nn\n", ""),
)
PROJECTION = """
import torch
import torch.nn as nn

class ProjectionLayer(nn.Module):
    def __init__(self, d_model, vocab_size) -> None:
        super().__init__()
        self.linear = nn.Linear(d_model, vocab_size)

    def forward(self, x):
        logits = self.linear(x)
        return logits - torch.logsumexp(logits, dim=2, keepdim=True)
"""

RIGHT = [
    ("embedding-lookup", LOOKUP),
    ("add-positions", ON_THE_FLY),
    ("frequencies", SEED_POSITIONS),
    ("add-positions", FROZEN),
    ("normalize", SEED_NORM),
    ("mean-and-deviation", SCALAR_NORM),
    ("write-feed-forward", CONVOLUTION),
    ("write-feed-forward", MATRICES),
    ("feed-forward", MATRICES.replace("(x @ self.W1 + self.b1,", "(x @ self.W1,")
     .replace("@ self.W2 + self.b2", "@ self.W2")
     .replace("        self.b1 = nn.Parameter(torch.zeros(d_ff))\n", "")
     .replace("        self.b2 = nn.Parameter(torch.zeros(d_model))\n", "")),
    ("residual", RESIDUAL),
    ("residual", OWN_NORM),
    ("log-probabilities", PROJECTION),
]  # fmt: skip

WRONG = [
    ("embedding-lookup", LOOKUP.replace(" * self.d_model ** 0.5", ""), "not-scaled"),
    ("embedding-lookup", LOOKUP.replace("self.table[ids]", "self.table.data[ids]"), "gradient-cut"),
    ("embedding-lookup", LOOKUP.replace("self.d_model ** 0.5", "self.d_model"),
     "multiplied-by-d-model"),
    ("add-positions", SEED_POSITIONS.replace("self.register_buffer('pe', pe)", "self.pe = pe"),
     "not-a-buffer"),
    ("add-positions", SEED_POSITIONS.replace("self.register_buffer('pe', pe)",
     "self.pe = nn.Parameter(pe)").replace(".requires_grad_(False)", ""), "trained-encoding"),
    ("frequencies", SEED_POSITIONS.replace("0, d_model, 2).float() *", "0, d_model, 2).float() * 2 *"),
     "exponent-doubled"),
    ("waves", SEED_POSITIONS.replace("pe[:, 0::2] = torch.sin", "pe[:, 0::2] = torch.cos")
     .replace("pe[:, 1::2] = torch.cos", "pe[:, 1::2] = torch.sin"), "sine-and-cosine-swapped"),
    ("waves", ON_THE_FLY.replace("(c - c % 2)", "c"), "cosine-with-its-own-frequency"),
    ("add-positions", SEED_POSITIONS.replace("self.pe[:, :x.shape[1], :]", "self.pe[:, :x.shape[0], :]"),
     "length-from-the-batch"),
    ("add-positions", ON_THE_FLY.replace("arange(n,", "arange(1, n + 1,"), "positions-from-one"),
    ("add-positions", ON_THE_FLY.replace("return self.drop(x + pe)", "return x + self.drop(pe)"),
     "dropout-on-the-encoding"),
    ("normalize", SEED_NORM.replace("x.std(dim=-1, keepdim=True)",
     "x.std(dim=-1, keepdim=True, unbiased=False)"), "biased-deviation"),
    ("normalize", SEED_NORM.replace("x.std(dim=-1, keepdim=True)", "x.var(dim=-1, keepdim=True)"),
     "variance-instead-of-deviation"),
    ("normalize", SCALAR_NORM.replace("(x - mean) / (std + self.eps)", "x - mean / (std + self.eps)"),
     "parentheses-missing"),
    ("normalize", SCALAR_NORM.replace("dim=-1", "dim=1"), "over-the-positions"),
    ("normalize", SCALAR_NORM.replace("dim=-1", "dim=0"), "over-the-batch"),
    ("normalize", SCALAR_NORM.replace("        std = x.std(dim=-1, keepdim=True)\n",
     "        std = torch.sqrt(x.var(dim=-1, keepdim=True) + self.eps)\n")
     .replace("(std + self.eps)", "std"), "epsilon-inside-the-root"),
    ("write-feed-forward", CONVOLUTION.replace(".clamp(min=0)", ""), "activation-forgotten"),
    ("write-feed-forward", MATRICES.replace("torch.max(", "torch.min("), "minimum-instead-of-maximum"),
    ("write-feed-forward", CONVOLUTION.replace(".clamp(min=0)", ".sigmoid()"), "sigmoid"),
    ("write-feed-forward", MATRICES.replace("self.dropout(hidden) @ self.W2 + self.b2",
     "self.dropout(hidden @ self.W2 + self.b2)"), "dropout-on-the-output"),
    ("write-feed-forward", MATRICES.replace("self.dropout(hidden)",
     "nn.functional.dropout(hidden, self.dropout.p)"), "dropout-in-evaluation"),
    ("residual", RESIDUAL.replace("residual = x\n        x = self.layer_norm(x)",
     "x = self.layer_norm(x)\n        residual = x"), "normed-input-added"),
    ("residual", RESIDUAL.replace("return x + residual", "return self.layer_norm(x + residual)")
     .replace("        x = self.layer_norm(x)\n", ""), "post-norm"),
    ("residual", RESIDUAL.replace("return x + residual", "residual += x\n        return residual"),
     "input-changed-in-place"),
    ("residual", RESIDUAL.replace("return x + residual", "return x"), "input-not-added"),
    ("residual", RESIDUAL.replace("residual = x\n", "residual = x.detach()\n"), "gradient-cut"),
    ("post-norm", RESIDUAL.replace("ResidualConnection", "PostNormResidualConnection"), "pre-norm"),
    ("log-probabilities", PROJECTION.replace(" - torch.logsumexp(logits, dim=2, keepdim=True)", ""),
     "logits"),
    ("log-probabilities", PROJECTION.replace("dim=2", "dim=1"), "over-the-positions"),
    ("log-probabilities", PROJECTION.replace("return logits - torch.logsumexp(logits, dim=2, keepdim=True)",
     "return torch.softmax(logits, dim=-1)"), "probabilities"),
]  # fmt: skip
