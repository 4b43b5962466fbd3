"""Each peer of the training benchmark computes our function, as far as weights can be copied."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from clearhead.compare.didactic import Didactic
from clearhead.compare.proofs.fixtures import logits, with_epsilon
from clearhead.compare.proofs.shared_weights import (
    copy_weights,
    linear_pairs,
    norm_pairs,
    transformer_pairs,
)
from clearhead.compare.training_peers import Marian, TorchTransformer, XTransformer
from clearhead.models import Transformer, TransformerConfig, count_parameters
from tests.compare.sizes import CONFIG
from tests.decoding.tiny import make_model


def batch(config: TransformerConfig) -> tuple[Tensor, Tensor]:
    """4 sources of up to 7 tokens, 4 targets of 5; some sources are padded."""
    generator = torch.Generator().manual_seed(5)
    src = torch.randint(3, config.src_vocab_size, (4, 7), generator=generator)
    tgt = torch.randint(3, config.tgt_vocab_size, (4, 5), generator=generator)
    src[1, 4:] = src[3, 6:] = config.pad_id
    return src, tgt


def ours(norm: str) -> Any:
    return with_epsilon(make_model(norm).double().eval())


def assert_same(theirs: nn.Module, mine: Transformer) -> None:
    src, tgt = batch(mine.config)
    with torch.no_grad():
        found, expected = theirs(src, tgt), logits(mine, src, tgt)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)


def test_torch_nn_equals_ours_with_the_same_weights() -> None:
    mine = ours("pre")
    theirs = with_epsilon(TorchTransformer(mine.config).double().eval())
    copy_weights(transformer_pairs(mine, theirs))
    assert_same(theirs, mine)


def test_marian_equals_our_post_norm_model_with_the_same_weights() -> None:
    pytest.importorskip("transformers")
    mine = ours("post")
    peer = Marian(mine.config)
    theirs: Any = with_epsilon(peer.double().eval())
    inner: Any = peer.inner
    with torch.no_grad():
        inner.model.encoder.embed_tokens.weight.copy_(mine.src_embed.embedding.weight)
        inner.model.decoder.embed_tokens.weight.copy_(mine.tgt_embed.embedding.weight)
        inner.lm_head.weight.copy_(mine.projection_layer.proj.weight)
        inner.final_logits_bias.copy_(mine.projection_layer.proj.bias)
    for half, position in (("encoder", mine.src_pos), ("decoder", mine.tgt_pos)):
        # Marian puts all sines first; here both use our order.
        table = getattr(inner.model, half).embed_positions
        table.weight = nn.Parameter(position.pe[0].clone(), requires_grad=False)
        for layer, block in zip(
            getattr(inner.model, half).layers, getattr(mine, half).layers, strict=True
        ):
            copy_marian_layer(layer, block, half)
    assert_same(theirs, mine)


def copy_marian_layer(layer: Any, block: Any, half: str) -> None:
    attentions = [(block.self_attention_block, layer.self_attn)]
    norms = [layer.self_attn_layer_norm, layer.final_layer_norm]
    if half == "decoder":
        attentions.append((block.cross_attention_block, layer.encoder_attn))
        norms.insert(1, layer.encoder_attn_layer_norm)
    for mine, theirs in attentions:
        for role, name in zip("qkvo", ("q_proj", "k_proj", "v_proj", "out_proj"), strict=True):
            copy_weights(linear_pairs(getattr(mine, f"w_{role}"), getattr(theirs, name)))
    copy_weights(linear_pairs(block.feed_forward_block.linear_1, layer.fc1))
    copy_weights(linear_pairs(block.feed_forward_block.linear_2, layer.fc2))
    for norm, residual in zip(norms, block.residual_connections, strict=True):
        copy_weights(norm_pairs(residual.norm, norm))


def test_the_didactic_model_equals_ours_with_the_same_weights() -> None:
    mine = ours("pre")
    theirs = Didactic(mine.config).double().eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter += 0.3 * torch.randn_like(parameter)
        copy_from_didactic(mine, theirs)
    src, tgt = batch(mine.config)
    look_ahead = torch.ones(5, 5).tril()[None, None]
    found = theirs(src, tgt, (src != mine.config.pad_id)[:, None, None], look_ahead)
    expected = logits(mine, src, tgt).log_softmax(-1)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)  # its epsilon is not 0


def copy_from_didactic(mine: Any, theirs: Any) -> None:
    def norm(target: Any, source: Any) -> None:
        target.alpha.copy_(source.alpha.expand_as(target.alpha))
        target.bias.copy_(source.bias.expand_as(target.bias))

    mine.src_embed.embedding.weight.copy_(theirs.src_embed.weight)
    mine.tgt_embed.embedding.weight.copy_(theirs.tgt_embed.weight)
    copy_weights(linear_pairs(theirs.proj, mine.projection_layer.proj))
    for half, own, end in (
        (mine.encoder, theirs.encoder, theirs.norms[0]),
        (mine.decoder, theirs.decoder, theirs.norms[1]),
    ):
        norm(half.norm, end)
        for block, layer in zip(half.layers, own, strict=True):
            block.self_attention_block.load_state_dict(layer.attend.state_dict())
            if layer.cross is not None:
                block.cross_attention_block.load_state_dict(layer.cross.state_dict())
                norm(block.residual_connections[1].norm, layer.norms[2])
            copy_weights(linear_pairs(layer.up, block.feed_forward_block.linear_1))
            copy_weights(linear_pairs(layer.down, block.feed_forward_block.linear_2))
            norm(block.residual_connections[0].norm, layer.norms[0])
            norm(block.residual_connections[-1].norm, layer.norms[1])


def test_x_transformers_has_learned_positions_and_no_biases_in_attention() -> None:
    pytest.importorskip("x_transformers")
    c = CONFIG
    attentions = c.encoder_layers + 2 * c.decoder_layers
    norms = 2 * c.encoder_layers + 3 * c.decoder_layers + 2
    biases = 4 * c.d_model * attentions + c.d_model * norms + c.tgt_vocab_size
    positions = (c.src_seq_len + c.tgt_seq_len) * c.d_model
    expected = count_parameters(Transformer.from_config(c)) - biases + positions
    assert count_parameters(XTransformer(c)) == expected


PEERS: dict[str, Callable[[TransformerConfig], nn.Module]] = {
    "torch": TorchTransformer,
    "transformers": Marian,
    "x_transformers": XTransformer,
}


@pytest.mark.parametrize("package", PEERS)
def test_every_peer_is_causal_and_ignores_padding(package: str) -> None:
    pytest.importorskip(package)
    torch.manual_seed(2)
    assert_causal_and_padding_invariant(PEERS[package](CONFIG).eval())


def assert_causal_and_padding_invariant(model: nn.Module) -> None:
    src, tgt = batch(CONFIG)
    with torch.no_grad():
        before = model(src, tgt)
        tgt[:, 3:] = 4
        after = model(src, tgt)
        longer = model(torch.cat([src, torch.zeros_like(src[:, :2])], dim=1), tgt)
    torch.testing.assert_close(after[:, :3], before[:, :3])
    torch.testing.assert_close(longer, after)
    assert not torch.allclose(after[:, 3:], before[:, 3:])
