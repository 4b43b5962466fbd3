"""transformers: random models of its families go through its files into ours.

Every weight is random (a fresh norm is all ones, a fresh bias all zeros), the batch is padded, and
the likeliest token must be the same everywhere. The shipped translator goes the other way.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, nn

from clearhead.blocks import look_ahead_mask, padding_mask
from clearhead.compare.peers import library
from clearhead.compare.proofs.exported import exported
from clearhead.compare.proofs.proof import Finding, Proof, largest
from clearhead.export.quiet import quiet
from clearhead.pretrained import from_pretrained

BOUND = 1e-5
LENGTHS = (7, 24, 2, 19)
SIZES = {"hidden_size": 40, "num_hidden_layers": 3, "num_attention_heads": 4,
         "intermediate_size": 56, "max_position_embeddings": 24}  # fmt: skip
Pairs = tuple[Tensor, Tensor]  # our logits and theirs, of real tokens


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
    yield exported("huggingface", "transformers generate")


@torch.no_grad()
def family(find: Callable[[Path], Pairs]) -> Finding:
    """The logits of every real token, and how often the likeliest differs."""
    with TemporaryDirectory() as folder, quiet():
        library("transformers.utils.logging").disable_progress_bar()
        ours, theirs = find(Path(folder))
    unlike = int((ours.argmax(-1) != theirs.argmax(-1)).sum())
    note = f"the likeliest of {ours.shape[-1]} tokens is the same {len(ours) - unlike} times of "
    return Finding(largest([(ours, theirs)]), None, unlike, f"{note}{len(ours)}")


def saved(model: Any, folder: Path) -> Any:
    """Every weight disturbed, written by transformers, and read again by it."""
    for parameter in model.parameters():
        parameter.add_(torch.randn_like(parameter) * 0.03)
    model.save_pretrained(folder)
    return type(model).from_pretrained(folder, attn_implementation="eager", dtype="auto").eval()


def ragged(vocabulary: int, pad_id: int, lengths: tuple[int, ...] = LENGTHS) -> Tensor:
    """Random ids, filled up to the longest."""
    ids = torch.full((len(lengths), max(lengths)), pad_id)
    for row, length in enumerate(lengths):
        ids[row, :length] = torch.randint(4, vocabulary, (length,))
    return ids


def bert(folder: Path) -> Pairs:
    """Segments, too."""
    peers = library("transformers")
    config = peers.BertConfig(vocab_size=99, **SIZES)
    theirs, ours = saved(peers.BertForMaskedLM(config), folder), read(folder)
    ids = ragged(99, 0)
    real, segments = ids != 0, torch.randint(0, 2, ids.shape)
    logits = ours.heads["masked_lm"](ours(ids, padding_mask(ids, 0), segments))
    return logits[real], theirs(ids, real.long(), segments).logits[real]


def gpt(folder: Path) -> Pairs:
    """Causal by itself."""
    peers = library("transformers")
    config = peers.GPT2Config(
        vocab_size=99, n_embd=40, n_layer=3, n_head=4, n_positions=24, n_inner=56,
        bos_token_id=2, eos_token_id=2,
    )  # fmt: skip
    theirs, ours = saved(peers.GPT2LMHeadModel(config), folder), read(folder)
    ids = ragged(99, 0)
    real = ids != 0
    logits = ours.logits(ours(ids, padding_mask(ids, 0)))
    return logits[real], theirs(ids, attention_mask=real.long()).logits[real]


def esm(folder: Path) -> Pairs:
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
    logits = ours.heads["masked_lm"](ours(ids, padding_mask(ids, 1)))
    return logits[real], theirs(ids, real.long()).logits[real]


def marian(folder: Path) -> Pairs:
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
    mask = padding_mask(src, pad)
    hidden = ours.decode(ours.encode(src, mask), mask, tgt, look_ahead_mask(longest))
    logits = ours.projection_layer.logits(hidden)
    expected = theirs(src, (src != pad).long(), tgt).logits
    return logits.flatten(0, 1), expected.flatten(0, 1)


def read(folder: Path) -> Any:
    """Ours, from its files."""
    model: nn.Module = from_pretrained(folder)
    return model.eval()
