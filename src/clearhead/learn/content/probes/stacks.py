"""Probes of the encoder, the decoder and the whole model, built around the library's blocks."""

import torch
from torch import Tensor, nn

from clearhead.blocks import (
    Decoder,
    DecoderBlock,
    Encoder,
    EncoderBlock,
    FeedForwardBlock,
    InputEmbeddings,
    LayerNormalization,
    MultiHeadAttentionBlock,
    PositionalEncoding,
    ProjectionLayer,
)
from clearhead.learn.content.probes.draws import EVERYTHING, see_draws
from clearhead.learn.run import Run, probe

H, D_FF = 3, 11
ONE = ({"batch": 2, "src_len": 5, "d_model": 6}, {"batch": 1, "src_len": 7, "d_model": 9})
TWO = (
    {"batch": 2, "src_len": 5, "tgt_len": 4, "d_model": 6},
    {"batch": 1, "src_len": 3, "tgt_len": 7, "d_model": 9},
)


def visible(batch: int, length: int) -> Tensor:
    """(batch, 1, 1, length): the last positions are padding, another number in each sentence."""
    lengths = torch.tensor([max(1, length - 1 - i) for i in range(batch)])
    return (torch.arange(length) < lengths[:, None])[:, None, None, :]


def earlier(length: int) -> Tensor:
    """(1, 1, length, length): the lower triangle."""
    return torch.ones(length, length, dtype=torch.bool).tril()[None, None]


def _attention(run: Run) -> nn.Module:
    return run.filled(MultiHeadAttentionBlock(run.d_model, H, 0.0))


def _feed_forward(run: Run) -> nn.Module:
    return run.filled(FeedForwardBlock(run.d_model, D_FF, 0.0))


def _encoder_layer(run: Run) -> nn.Module:
    layer = EncoderBlock(_attention(run), _feed_forward(run), 0.0)
    return run.filled(layer)


def _decoder_layer(run: Run) -> nn.Module:
    layer = DecoderBlock(_attention(run), _attention(run), _feed_forward(run), 0.0)
    return run.filled(layer)


@probe(*ONE)
def encoder_block(run: Run) -> None:
    """`EncoderBlock(self_attention_block, feed_forward_block, dropout)`."""
    x = run.normal(run.batch, run.src_len, run.d_model) * 2.0 + 0.5
    mask = visible(run.batch, run.src_len)
    block = run.block("EncoderBlock", _attention(run), _feed_forward(run), 0.0)
    output = run.see("output", block, x, mask)
    _ignores_padding(run, block, x, mask, output)
    parts = _attention(run), _feed_forward(run)
    dropped = run.block("EncoderBlock", *parts, EVERYTHING, training=True)
    run.see("output in training with dropout 1", dropped, x, mask)
    see_draws(run, run.block("EncoderBlock", *parts, 0.5, training=True), x, mask)
    still = run.block("EncoderBlock", _attention(run), _feed_forward(run), 1.0)
    run.see("output in evaluation with dropout 1", still, x, mask)


@probe(*({**sizes, "layers": n} for sizes, n in zip(ONE, (3, 4), strict=True)))
def encoder(run: Run) -> None:
    """`Encoder(layers)`, a stack of three or four."""
    x = run.normal(run.batch, run.src_len, run.d_model)
    mask = visible(run.batch, run.src_len)
    block = run.block("Encoder", nn.ModuleList(_encoder_layer(run) for _ in range(run.layers)))
    output = run.see("output", block, x, mask)
    _ignores_padding(run, block, x, mask, output)


def _ignores_padding(run: Run, block: nn.Module, x: Tensor, mask: Tensor, output: object) -> None:
    changed = x + (~mask)[:, 0, 0, :, None] * 3.0
    with torch.no_grad():
        after = block(changed, mask)
    if isinstance(output, Tensor) and isinstance(after, Tensor) and after.shape == x.shape:
        gap = ((after - output) * mask[:, 0, 0, :, None]).abs().max()
        law = "what stands in the padding does not change the outputs of real tokens"
        run.law(law, bool(gap < 1e-4), f"they change by up to {float(gap):.3g}")


@probe(*TWO)
def decoder_block(run: Run) -> None:
    """`DecoderBlock(self_attention_block, cross_attention_block, feed_forward_block, dropout)`."""
    parts = (_attention(run), _attention(run), _feed_forward(run))
    block = run.block("DecoderBlock", *parts, 0.0)
    _decode(run, block)
    dropped = run.block("DecoderBlock", *parts, EVERYTHING, training=True)
    x, memory, src_mask, tgt_mask = _decoder_inputs(run)
    run.see("output in training with dropout 1", dropped, x, memory, src_mask, tgt_mask)
    half = run.block("DecoderBlock", *parts, 0.5, training=True)
    see_draws(run, half, x, memory, src_mask, tgt_mask)


@probe(*({**sizes, "layers": n} for sizes, n in zip(TWO, (3, 2), strict=True)))
def decoder(run: Run) -> None:
    """`Decoder(layers)`, a stack of two or three."""
    block = run.block("Decoder", nn.ModuleList(_decoder_layer(run) for _ in range(run.layers)))
    _decode(run, block)


def _decoder_inputs(run: Run) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    x = run.normal(run.batch, run.tgt_len, run.d_model) * 2.0 + 0.5
    memory = run.normal(run.batch, run.src_len, run.d_model)
    return x, memory, visible(run.batch, run.src_len), earlier(run.tgt_len)


def _decode(run: Run, block: nn.Module) -> None:
    x, memory, src_mask, tgt_mask = _decoder_inputs(run)
    # A mask that fits everywhere: what is wrong besides the masks is seen before they do not fit.
    every = torch.ones(1, 1, 1, 1, dtype=torch.bool)
    # And a source as long as the target: a wrong sequence gives wrong values, not only an error.
    short = run.normal(run.batch, run.tgt_len, run.d_model)
    run.see("output for a source of the target's length", block, x, short, every, every)
    run.see("output without hidden positions", block, x, memory, every, every)
    output = run.see("output", block, x, memory, src_mask, tgt_mask)
    changed = x.clone()
    changed[:, -1] += 2.0
    with torch.no_grad():
        after = block(changed, memory, src_mask, tgt_mask)
    if isinstance(output, Tensor) and isinstance(after, Tensor) and after.shape == x.shape:
        gap = (after - output)[:, :-1].abs().max()
        law = "a later target token does not change earlier outputs"
        run.law(law, bool(gap < 1e-4), f"they change by up to {float(gap):.3g}")


@probe(*({**sizes, "src_vocab": 13, "tgt_vocab": 17} for sizes in TWO))
def transformer(run: Run) -> None:
    """`Transformer(encoder, decoder, src_embed, tgt_embed, src_pos, tgt_pos, projection_layer)`."""
    parts = (
        Encoder(nn.ModuleList([_encoder_layer(run)]), LayerNormalization(run.d_model)),
        Decoder(nn.ModuleList([_decoder_layer(run)]), LayerNormalization(run.d_model)),
        InputEmbeddings(run.d_model, run.src_vocab),
        InputEmbeddings(run.d_model, run.tgt_vocab),
        PositionalEncoding(run.d_model, run.src_len, 0.0),
        PositionalEncoding(run.d_model, run.tgt_len, 0.0),
        ProjectionLayer(run.d_model, run.tgt_vocab),
    )
    model = run.block("Transformer", *map(run.filled, parts))
    src = run.ids(run.batch, run.src_len, high=run.src_vocab)
    tgt = run.ids(run.batch, run.tgt_len, high=run.tgt_vocab)
    src_mask, tgt_mask = visible(run.batch, run.src_len), earlier(run.tgt_len)
    encode, decode, project = (getattr(model, n) for n in ("encode", "decode", "project"))
    memory = run.see("encode", encode, src, src_mask)
    if isinstance(memory, Tensor):
        hidden = run.see("decode", decode, memory, src_mask, tgt, tgt_mask)
        if isinstance(hidden, Tensor):
            run.see("project", project, hidden)

    def three_steps(src: Tensor, tgt: Tensor, src_mask: Tensor, tgt_mask: Tensor) -> object:
        return project(decode(encode(src, src_mask), src_mask, tgt, tgt_mask))

    written = type(model).forward is not nn.Module.forward  # the step-by-step guide has none
    run.see("forward", model if written else three_steps, src, tgt, src_mask, tgt_mask)
