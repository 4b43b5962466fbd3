"""Probes of the parts of a layer: embeddings, positions, norm, feed-forward, residual."""

import torch
from torch import Tensor, nn

from clearhead.learn.content.probes.draws import EVERYTHING, see_draws, see_mean
from clearhead.learn.run import Run, probe

SIZES = (
    {"batch": 2, "seq_len": 5, "d_model": 8},
    {"batch": 1, "seq_len": 3, "d_model": 6},
    {"batch": 4, "seq_len": 7, "d_model": 10},
)

UNTRAINED = "the encoding is not trained"
BUFFER = "the encoding moves to another device with the block, as a buffer does"


@probe(*({**sizes, "vocab": v} for sizes, v in zip(SIZES, (11, 9, 13), strict=True)))
def input_embeddings(run: Run) -> None:
    """`InputEmbeddings(d_model, vocab_size)`."""
    block = run.block("InputEmbeddings", run.d_model, run.vocab)
    run.see("output", block, run.ids(run.batch, run.seq_len, high=run.vocab))
    for name, size in (("d_model", run.d_model), ("vocab_size", run.vocab)):
        if hasattr(block, name):  # a block of the learner's own may need neither
            found = getattr(block, name)
            run.law(f"the block stores {name}", found == size, f"it stores {found}")


@probe(*SIZES, {"batch": 3, "seq_len": 4, "d_model": 7})
def positional_encoding(run: Run) -> None:
    """`PositionalEncoding(d_model, seq_len, dropout)`; the last case has an odd width."""
    longest = 2 * run.seq_len + 1  # not d_model, and not close to it
    block = run.block("PositionalEncoding", run.d_model, longest, 0.0)
    x = run.normal(run.batch, run.seq_len, run.d_model)
    zeros = run.see("encoding of zeros", block, torch.zeros_like(x))
    if run.batch > 1 and isinstance(zeros, torch.Tensor) and zeros.shape == x.shape:
        same = torch.allclose(zeros[:1].expand_as(zeros), zeros, atol=1e-5)
        run.law("every sentence of the batch gets the same encoding", same)
    run.see("output", block, x)
    trained = any(p.requires_grad for p in block.parameters())
    run.law(UNTRAINED, not trained, "it is: the optimizer would change it")
    loose = any(isinstance(value, torch.Tensor) for value in vars(block).values())
    run.law(BUFFER, not loose, "it is a plain tensor; use register_buffer")
    still = run.block("PositionalEncoding", run.d_model, longest, 1.0)
    run.see("output in evaluation with dropout 1", still, x)
    dropped = run.block("PositionalEncoding", run.d_model, longest, EVERYTHING, training=True)
    run.see("output in training with dropout 1", dropped, x)
    half = run.block("PositionalEncoding", run.d_model, longest, 0.5, training=True)
    see_draws(run, half, x)
    see_mean(run, half, x)


@probe(*({**sizes, "seq_len": sizes["seq_len"] + 4} for sizes in SIZES))
def layer_normalization(run: Run) -> None:
    """`LayerNormalization(features, eps)`; an epsilon of 0.1 shows where it stands."""
    block = run.block("LayerNormalization", run.d_model, 0.1)
    x = run.normal(run.batch, run.seq_len, run.d_model) * 0.5 + 2.0
    run.see("output", block, x)
    one = run.normal(run.batch + 1, run.d_model) * 3.0 - 1.0
    run.see("output of (batch, d_model)", block, one)
    arguments = run.call_form("LayerNormalization", (run.d_model, 1e-6))
    fresh = run.get("LayerNormalization")(*arguments).to(run.dtype)
    run.see("a new block's output", fresh, x)


@probe(*({**sizes, "d_ff": d} for sizes, d in zip(SIZES, (13, 17, 12), strict=True)))
def feed_forward(run: Run) -> None:
    """`FeedForwardBlock(d_model, d_ff, dropout)`."""
    block = run.block("FeedForwardBlock", run.d_model, run.d_ff, 0.0)
    x = run.normal(run.batch, run.seq_len, run.d_model)
    run.see("output", block, x)
    dropped = run.block("FeedForwardBlock", run.d_model, run.d_ff, EVERYTHING, training=True)
    run.see("output in training with dropout 1", dropped, x)
    half = run.block("FeedForwardBlock", run.d_model, run.d_ff, 0.5, training=True)
    see_draws(run, half, x)
    see_mean(run, half, x)
    still = run.block("FeedForwardBlock", run.d_model, run.d_ff, 1.0)
    run.see("output in evaluation with dropout 1", still, x)


@probe(*SIZES)
def residual(run: Run) -> None:
    """`ResidualConnection(dropout)`, called with x and a sublayer."""
    see_mean(run, *_residual(run, "ResidualConnection"))


@probe(*SIZES)
def post_norm(run: Run) -> None:
    """`PostNormResidualConnection(dropout)`."""
    _residual(run, "PostNormResidualConnection")


def _residual(run: Run, name: str) -> tuple[nn.Module, Tensor, nn.Module]:
    """What both have in common; returns the block with a rate of 0.5 and its inputs."""
    sublayer = run.filled(nn.Linear(run.d_model, run.d_model))
    x = run.normal(run.batch, run.seq_len, run.d_model) * 3.0 + 1.0
    run.see("output", run.block(name, 0.0), x, sublayer)
    dropped = run.block(name, EVERYTHING, training=True)
    run.see("output in training with dropout 1", dropped, x, sublayer)
    half = run.block(name, 0.5, training=True)
    see_draws(run, half, x, sublayer)
    run.see("output in evaluation with dropout 1", run.block(name, 1.0), x, sublayer)
    return half, x, sublayer


@probe(*({**sizes, "vocab": v} for sizes, v in zip(SIZES, (11, 9, 13), strict=True)))
def projection(run: Run) -> None:
    """`ProjectionLayer(d_model, vocab_size)`."""
    block = run.block("ProjectionLayer", run.d_model, run.vocab)
    output = run.see("output", block, run.normal(run.batch, run.seq_len, run.d_model))
    if isinstance(output, torch.Tensor) and output.dim():
        sums = output.exp().sum(-1)
        holds = bool(torch.allclose(sums, torch.ones_like(sums), atol=1e-4))
        run.law("the probabilities of every position sum to 1", holds)
