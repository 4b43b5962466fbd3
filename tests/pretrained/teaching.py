"""Small models in the layouts of public teaching code: the same names and functions."""

import math

import torch
from torch import Tensor, nn


def sinusoids(seq_len: int, d_model: int) -> Tensor:
    """(1, seq_len, d_model), in float32 throughout as in the sources."""
    rates = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
    angles = torch.arange(seq_len).unsqueeze(1) * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1).unsqueeze(0)


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, h: int) -> Tensor:
    def heads(x: Tensor) -> Tensor:
        return x.view(x.shape[0], x.shape[1], h, -1).transpose(1, 2)

    scores = heads(q) @ heads(k).transpose(-2, -1) / math.sqrt(q.shape[-1] // h)
    weights = scores.masked_fill(mask == 0, -1e9).softmax(dim=-1)
    return (weights @ heads(v)).transpose(1, 2).reshape(q.shape)


class Norm(nn.Module):
    """`names` are those of the two parameters."""

    def __init__(self, features: int, names: tuple[str, str]) -> None:
        super().__init__()
        self.names = names
        self.register_parameter(names[0], nn.Parameter(1 + 0.1 * torch.randn(features)))
        self.register_parameter(names[1], nn.Parameter(0.1 * torch.randn(features)))

    def forward(self, x: Tensor) -> Tensor:
        scale, shift = (getattr(self, name) for name in self.names)
        return scale * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-6) + shift


class Residual(nn.Module):
    def __init__(self, norm: Norm) -> None:
        super().__init__()
        self.norm = norm


class HkprojAttention(nn.Module):
    def __init__(self, d_model: int, h: int, bias: bool) -> None:
        super().__init__()
        self.h = h
        for letter in "qkvo":
            setattr(self, f"w_{letter}", nn.Linear(d_model, d_model, bias=bias))

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        return self.w_o(attend(self.w_q(q), self.w_k(k), self.w_v(v), mask, self.h))


class HkprojFeedForward(nn.Module):
    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.linear_1, self.linear_2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear_2(self.linear_1(x).relu())


class Layer(nn.Module):
    """Pre-norm sublayers; `names` are those of the attentions, the network and the residuals."""

    def __init__(self, parts: dict[str, nn.Module], residuals: str, norms: list[Norm]) -> None:
        super().__init__()
        self.names, self.residuals = list(parts), residuals
        for name, part in parts.items():
            setattr(self, name, part)
        setattr(self, residuals, nn.ModuleList(Residual(norm) for norm in norms))

    def forward(self, x: Tensor, mask: Tensor, memory: Tensor, src_mask: Tensor) -> Tensor:
        parts = [getattr(self, name) for name in self.names]
        norms = [residual.norm for residual in getattr(self, self.residuals)]
        y = norms[0](x)
        x = x + parts[0](y, y, y, mask)
        if len(parts) == 3:
            x = x + parts[1](norms[1](x), memory, memory, src_mask)
        return x + parts[-1](norms[-1](x))


class Stack(nn.Module):
    def __init__(self, layers: list[Layer], norm: Norm) -> None:
        super().__init__()
        self.layers, self.norm = nn.ModuleList(layers), norm

    def forward(self, x: Tensor, mask: Tensor, memory: Tensor, src_mask: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x, mask, memory, src_mask)
        return self.norm(x)


class Embedding(nn.Module):
    def __init__(self, name: str, vocab_size: int, d_model: int) -> None:
        super().__init__()
        self.name = name
        setattr(self, name, nn.Embedding(vocab_size, d_model))

    def forward(self, ids: Tensor) -> Tensor:
        embedding = getattr(self, self.name)
        return embedding(ids) * math.sqrt(embedding.embedding_dim)


class Positions(nn.Module):
    def __init__(self, seq_len: int, d_model: int) -> None:
        super().__init__()
        self.register_buffer("pe", sinusoids(seq_len, d_model))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.pe[:, : x.shape[1]]


class Output(nn.Module):
    def __init__(self, d_model: int, vocab_size: int) -> None:
        super().__init__()
        self.proj = nn.Linear(d_model, vocab_size)


class Model(nn.Module):
    """Forward of both layouts; a subclass says where the parts are."""

    encoder: Stack
    decoder: Stack

    def forward(self, src: Tensor, tgt: Tensor, src_mask: Tensor, tgt_mask: Tensor) -> Tensor:
        """Log-probabilities (batch, tgt_len, vocab)."""
        src_embed, tgt_embed, output = self.parts()
        memory = self.encoder(src_embed(src), src_mask, src, src_mask)
        hidden = self.decoder(tgt_embed(tgt), tgt_mask, memory, src_mask)
        return output.proj(hidden).log_softmax(-1)

    def parts(self) -> tuple[nn.Module, nn.Module, Output]:
        raise NotImplementedError


class Hkproj(Model):
    """hkproj/pytorch-transformer; its first version had other norms, biases and one other name."""

    def __init__(self, vocabularies: tuple[int, int], lengths: tuple[int, int],
                 sizes: tuple[int, int, int, int], first: bool = False) -> None:  # fmt: skip
        super().__init__()
        d_model, layers, h, d_ff = sizes

        def norm() -> Norm:
            return Norm(1 if first else d_model, ("alpha", "bias"))

        def layer(*attentions: str) -> Layer:
            parts: dict[str, nn.Module] = {
                n: HkprojAttention(d_model, h, first) for n in attentions
            }
            parts["feed_forward_block"] = HkprojFeedForward(d_model, d_ff)
            return Layer(parts, "residual_connections", [norm() for _ in parts])

        cross = "source_attention_block" if first else "cross_attention_block"
        self_attention = "self_attention_block"
        self.encoder = Stack([layer(self_attention) for _ in range(layers)], norm())
        self.decoder = Stack([layer(self_attention, cross) for _ in range(layers)], norm())
        self.src_embed = Embedding("embedding", vocabularies[0], d_model)
        self.tgt_embed = Embedding("embedding", vocabularies[1], d_model)
        self.src_pos, self.tgt_pos = (Positions(length, d_model) for length in lengths)
        self.projection_layer = Output(d_model, vocabularies[1])

    def parts(self) -> tuple[nn.Module, nn.Module, Output]:
        source = nn.Sequential(self.src_embed, self.src_pos)
        return source, nn.Sequential(self.tgt_embed, self.tgt_pos), self.projection_layer


class AnnotatedAttention(nn.Module):
    def __init__(self, d_model: int, h: int) -> None:
        super().__init__()
        self.h = h
        self.linears = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        q, k, v = (linear(x) for linear, x in zip(self.linears, (q, k, v), strict=False))
        return self.linears[-1](attend(q, k, v, mask, self.h))


class AnnotatedFeedForward(nn.Module):
    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.w_1, self.w_2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        return self.w_2(self.w_1(x).relu())


class Annotated(Model):
    """The Annotated Transformer, version of 2022."""

    def __init__(self, vocabularies: tuple[int, int], lengths: tuple[int, int],
                 sizes: tuple[int, int, int, int]) -> None:  # fmt: skip
        super().__init__()
        d_model, layers, h, d_ff = sizes

        def norm() -> Norm:
            return Norm(d_model, ("a_2", "b_2"))

        def layer(*attentions: str) -> Layer:
            parts: dict[str, nn.Module] = {n: AnnotatedAttention(d_model, h) for n in attentions}
            parts["feed_forward"] = AnnotatedFeedForward(d_model, d_ff)
            return Layer(parts, "sublayer", [norm() for _ in parts])

        self.encoder = Stack([layer("self_attn") for _ in range(layers)], norm())
        self.decoder = Stack([layer("self_attn", "src_attn") for _ in range(layers)], norm())
        self.src_embed, self.tgt_embed = (
            nn.Sequential(Embedding("lut", vocab_size, d_model), Positions(length, d_model))
            for vocab_size, length in zip(vocabularies, lengths, strict=True)
        )
        self.generator = Output(d_model, vocabularies[1])

    def parts(self) -> tuple[nn.Module, nn.Module, Output]:
        return self.src_embed, self.tgt_embed, self.generator
