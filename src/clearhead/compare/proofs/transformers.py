"""transformers: random models of its families go through its files into ours.

Every weight is random (a fresh norm is all ones, a fresh bias all zeros), the batch is padded, and
the likeliest token must be the same everywhere. Held against each other are the logits, every
layer's hidden states, and the gradients of all weights, which our table of names puts into the
form of their files. The shipped translator goes the other way.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, nn

from clearhead.blocks import look_ahead_mask, padding_mask
from clearhead.compare.peers import library
from clearhead.compare.proofs import generation
from clearhead.compare.proofs.exported import exported
from clearhead.compare.proofs.proof import Finding, Proof, gradient, largest
from clearhead.explain.capture import capture
from clearhead.export.quiet import quiet
from clearhead.pretrained import from_pretrained
from clearhead.pretrained.families import family_of_config

BOUND = 1e-5
LENGTHS = (7, 24, 2, 19)
SIZES = {"hidden_size": 40, "num_hidden_layers": 3, "num_attention_heads": 4,
         "intermediate_size": 56, "max_position_embeddings": 24}  # fmt: skip
Pairs = Iterator[tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Sides:
    """Ours and theirs: the models, their logits and hidden states at real tokens."""

    models: tuple[nn.Module, nn.Module]
    logits: tuple[Tensor, Tensor]
    states: list[tuple[Tensor, Tensor]]


Find = Callable[[Path], Sides]


def proofs() -> Iterator[Proof]:
    """One model a family, and the export."""
    for ours, theirs, find in (
        ("Bert", "BertForMaskedLM", bert),
        ("Gpt", "GPT2LMHeadModel", gpt),
        ("Esm", "EsmForMaskedLM", esm),
        ("Marian", "MarianMTModel", marian),
    ):
        yield Proof(
            f"{ours}, weights from its files", theirs, "float32", BOUND, partial(family, find)
        )
    yield from generation.proofs()
    yield exported("huggingface", "transformers generate")


def family(find: Find) -> Finding:
    """Logits, states and gradients; and how often the likeliest token differs."""
    with TemporaryDirectory() as folder, quiet():
        library("transformers.utils.logging").disable_progress_bar()
        sides = find(Path(folder))
    ours, theirs = sides.logits
    unlike = int((ours.argmax(-1) != theirs.argmax(-1)).sum())
    upstream = torch.randn_like(ours) / math.sqrt(ours.numel())
    ours.backward(upstream)
    theirs.backward(upstream)
    return Finding(
        largest([sides.logits, *sides.states]),
        largest(gradients(*sides.models)),
        unlike,
        f"{len(sides.states)} layers' states too; the likeliest of {ours.shape[-1]} tokens is the "
        f"same {len(ours) - unlike} times of {len(ours)}",
    )


def gradients(ours: Any, theirs: nn.Module) -> Pairs:
    """Of every weight that both learn, in the form that it has in a file.

    What is a buffer of theirs (Marian's `final_logits_bias`) has no gradient there.
    """
    own = dict(ours.named_parameters())
    others = dict(theirs.named_parameters())
    fixed = dict(theirs.named_buffers())
    for row in family_of_config(ours.config).table(ours.config).entries(own):
        if row.theirs in fixed:
            continue
        name = next(name for name in (row.theirs, *row.also) if name in others)
        yield row.form.together([gradient(own[part]) for part in row.ours]), gradient(others[name])


def states(
    model: Any, run: Callable[[], Tensor], real: Tensor, first: str, stack: str
) -> tuple[Tensor, list[Tensor]]:
    """What a run gives, and every layer's hidden states at real tokens, as they count them:
    what the first layer gets, what every other gets, and what leaves the stack.
    """
    count = len(model.get_submodule(stack).layers)
    paths = [first, *(f"{stack}.layers.{n}" for n in range(count - 1)), stack]
    with capture(model, *paths) as seen:
        answer = run()
    return answer, [seen[path][real] for path in paths]


def saved(model: Any, folder: Path) -> Any:
    """Every weight disturbed, written by transformers, and read again by it."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.03)
    model.save_pretrained(folder)
    again = type(model).from_pretrained(folder, attn_implementation="eager", dtype="auto").eval()
    for module in again.modules():
        if isinstance(module, nn.Embedding):
            # Theirs would keep gradients from the padding's row, which is Marian's begin sign.
            module.padding_idx = None
    return again


def compared(models: Any, ours: Tensor, theirs: Any, states: list[Tensor], real: Tensor) -> Sides:
    """One stack: their answer has its hidden states with it."""
    expected = [state[real] for state in theirs.hidden_states]
    return Sides(
        models, (ours[real], theirs.logits[real]), list(zip(states, expected, strict=True))
    )


def ragged(vocabulary: int, pad_id: int, lengths: tuple[int, ...] = LENGTHS) -> Tensor:
    """Random ids, filled up to the longest."""
    ids = torch.full((len(lengths), max(lengths)), pad_id)
    for row, length in enumerate(lengths):
        ids[row, :length] = torch.randint(4, vocabulary, (length,))
    return ids


def bert(folder: Path) -> Sides:
    """Segments, too."""
    peers = library("transformers")
    config = peers.BertConfig(vocab_size=99, **SIZES)
    theirs, ours = saved(peers.BertForMaskedLM(config), folder), read(folder)
    ids = ragged(99, 0)
    real, segments = ids != 0, torch.randint(0, 2, ids.shape)
    hidden, seen = states(
        ours, lambda: ours(ids, padding_mask(ids, 0), segments), real, "embeddings", "encoder"
    )
    answer = theirs(ids, real.long(), segments, output_hidden_states=True)
    return compared((ours, theirs), ours.heads["masked_lm"](hidden), answer, seen, real)


def gpt(folder: Path) -> Sides:
    """Causal by itself."""
    peers = library("transformers")
    config = peers.GPT2Config(
        vocab_size=99, n_embd=40, n_layer=3, n_head=4, n_positions=24, n_inner=56,
        bos_token_id=2, eos_token_id=2,
    )  # fmt: skip
    theirs, ours = saved(peers.GPT2LMHeadModel(config), folder), read(folder)
    ids = ragged(99, 0)
    real = ids != 0
    hidden, seen = states(
        ours, lambda: ours(ids, padding_mask(ids, 0)), real, "positions", "decoder"
    )
    answer = theirs(ids, attention_mask=real.long(), output_hidden_states=True)
    return compared((ours, theirs), ours.logits(hidden), answer, seen, real)


def esm(folder: Path) -> Sides:
    """Rotary positions, and some residues hidden behind the mask sign."""
    peers = library("transformers")
    config = peers.EsmConfig(
        vocab_size=33, mask_token_id=32, pad_token_id=1, position_embedding_type="rotary",
        token_dropout=True, emb_layer_norm_before=False, **SIZES,
    )  # fmt: skip
    theirs, ours = saved(peers.EsmForMaskedLM(config), folder), read(folder)
    ids = ragged(33, 1)
    ids[1, 5:9] = ids[3, 2] = 32
    real = ids != 1
    hidden, seen = states(ours, lambda: ours(ids, padding_mask(ids, 1)), real, "embed", "encoder")
    answer = theirs(ids, real.long(), output_hidden_states=True)
    return compared((ours, theirs), ours.heads["masked_lm"](hidden), answer, seen, real)


def marian(folder: Path) -> Sides:
    """Encoder and decoder; the target begins with the padding's sign."""
    peers, pad, longest = library("transformers"), 69, max(LENGTHS)
    config = peers.MarianConfig(
        vocab_size=70, d_model=40, encoder_layers=3, decoder_layers=2, encoder_ffn_dim=56,
        decoder_ffn_dim=56, encoder_attention_heads=4, decoder_attention_heads=4,
        max_position_embeddings=24, pad_token_id=pad, decoder_start_token_id=pad, eos_token_id=0,
        forced_eos_token_id=None, activation_function="swish", scale_embedding=True,
    )  # fmt: skip
    model = peers.MarianMTModel(config)
    model.final_logits_bias.normal_()
    theirs, ours = saved(model, folder), read(folder)
    src, tgt = ragged(pad, pad), ragged(pad, pad, (longest,) * len(LENGTHS))
    tgt[:, 0] = pad
    mask, real, whole = padding_mask(src, pad), src != pad, torch.ones_like(tgt, dtype=torch.bool)
    memory, read_states = states(ours, lambda: ours.encode(src, mask), real, "src_pos", "encoder")
    hidden, written = states(
        ours,
        lambda: ours.decode(memory, mask, tgt, look_ahead_mask(longest)),
        whole, "tgt_pos", "decoder",
    )  # fmt: skip
    answer = theirs(src, real.long(), tgt, output_hidden_states=True)
    expected = [state[real] for state in answer.encoder_hidden_states]
    expected += [state[whole] for state in answer.decoder_hidden_states]
    logits = ours.projection_layer.logits(hidden).flatten(0, 1), answer.logits.flatten(0, 1)
    return Sides((ours, theirs), logits, list(zip([*read_states, *written], expected, strict=True)))


def read(folder: Path) -> Any:
    """Ours, from its files."""
    return from_pretrained(folder)
