"""transformers: random models of four families, loaded from their files into ours; generation.

Every weight is random (a new norm is all ones, a new bias all zeros), batches are padded, and the
most likely token must be the same everywhere. Compared are logits, hidden states of every layer,
and the gradients of all weights, converted by our name table into the layout of the files.
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
from clearhead.compare.proofs.exports import exported
from clearhead.compare.proofs.proof import Deviation, Proof, gradient, largest_difference
from clearhead.compare.timing import library
from clearhead.decoding import sampling
from clearhead.decoding.engine import SamplingOptions
from clearhead.decoding.generation import generate
from clearhead.explain.capture import capture
from clearhead.export.exporting import quiet
from clearhead.models import Gpt
from clearhead.pretrained import from_pretrained
from clearhead.pretrained.loading import family_of_config

BOUND = 1e-5
LENGTHS = (7, 24, 2, 19)
TOKENS, PROMPTS = 200, (9, 17)  # generated tokens, and the lengths of the prompts
SIZES = {"hidden_size": 40, "num_hidden_layers": 3, "num_attention_heads": 4,
         "intermediate_size": 56, "max_position_embeddings": 24}  # fmt: skip


@dataclass(frozen=True)
class Outputs:
    """Ours and theirs: the models, their logits and hidden states at real tokens."""

    models: tuple[nn.Module, nn.Module]
    logits: tuple[Tensor, Tensor]
    states: list[tuple[Tensor, Tensor]]


Run = Callable[[Path], Outputs]


def proofs() -> Iterator[Proof]:
    """One model per family, text generation, and the export of the shipped translator."""
    for ours, theirs, run in (
        ("Bert", "BertForMaskedLM", bert),
        ("Gpt", "GPT2LMHeadModel", gpt),
        ("Esm", "EsmForMaskedLM", esm),
        ("Marian", "MarianMTModel", marian),
    ):
        find = partial(family, run)
        yield Proof(f"{ours}, weights from its files", theirs, "float32", BOUND, find)
    ours = f"Gpt, {TOKENS} greedy tokens of 2 prompts, with a cache"
    yield Proof(ours, "GPT2LMHeadModel.generate", "float32", 0.0, greedy)
    ours = "temperature, top-k, top-p, min-p, repetition penalty"
    yield Proof(ours, "its logits processors", "float32", 0.0, filters)
    yield exported("huggingface", "transformers generate")


def family(run: Run) -> Deviation:
    """Logits, states and gradients; mismatches are tokens whose most likely prediction differs."""
    with TemporaryDirectory() as folder, quiet():
        library("transformers.utils.logging").disable_progress_bar()
        outputs = run(Path(folder))
    ours, theirs = outputs.logits
    different = int((ours.argmax(-1) != theirs.argmax(-1)).sum())
    upstream = torch.randn_like(ours) / math.sqrt(ours.numel())
    ours.backward(upstream)
    theirs.backward(upstream)
    return Deviation(
        largest_difference([outputs.logits, *outputs.states]),
        largest_difference(_gradients(*outputs.models)),
        different,
        f"{len(outputs.states)} layers' states too; the most likely of {ours.shape[-1]} tokens is "
        f"the same {len(ours) - different} times of {len(ours)}",
    )


def _gradients(ours: Any, theirs: nn.Module) -> Iterator[tuple[Tensor, Tensor]]:
    """Of every weight that both learn, in the layout of a file.

    Their buffers, such as Marian's `final_logits_bias`, have no gradient.
    """
    own = dict(ours.named_parameters())
    others = dict(theirs.named_parameters())
    buffers = dict(theirs.named_buffers())
    for row in family_of_config(ours.config).table(ours.config).entries(own):
        if row.theirs in buffers:
            continue
        name = next(name for name in (row.theirs, *row.also) if name in others)
        yield row.form.together([gradient(own[part]) for part in row.ours]), gradient(others[name])


def _with_states(
    model: Any, run: Callable[[], Tensor], real: Tensor, first: str, stack: str
) -> tuple[Tensor, list[Tensor]]:
    """The result of `run`, and hidden states at real tokens in the order of transformers:
    the input of the first layer, the outputs of all layers but the last, the stack's output.
    """
    count = len(model.get_submodule(stack).layers)
    paths = [first, *(f"{stack}.layers.{n}" for n in range(count - 1)), stack]
    with capture(model, *paths) as seen:
        result = run()
    return result, [seen[path][real] for path in paths]


def _both(model: Any, folder: Path, noise: float = 0.03) -> tuple[Any, Any]:
    """Randomise all weights, save with transformers, then load ours and theirs."""
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * noise)
    model.save_pretrained(folder)
    theirs = type(model).from_pretrained(folder, attn_implementation="eager", dtype="auto").eval()
    for module in theirs.modules():
        if isinstance(module, nn.Embedding):
            # It would zero the gradient of the padding token, which is Marian's first token.
            module.padding_idx = None
    return from_pretrained(folder), theirs


def _padded_ids(vocabulary: int, pad_id: int, lengths: tuple[int, ...] = LENGTHS) -> Tensor:
    ids = torch.full((len(lengths), max(lengths)), pad_id)
    for row, length in enumerate(lengths):
        ids[row, :length] = torch.randint(4, vocabulary, (length,))
    return ids


def _one_stack(
    models: tuple[Any, Any],
    ids: Tensor,
    pad_id: int,
    paths: tuple[str, str],
    segments: Tensor | None = None,
) -> Outputs:
    """Both models on the same ids; `paths` are those of `_with_states`."""
    ours, theirs = models
    real, given = ids != pad_id, {} if segments is None else {"token_type_ids": segments}
    hidden, states = _with_states(
        ours, lambda: ours(ids, padding_mask(ids, pad_id), *given.values()), real, *paths
    )
    result = theirs(ids, attention_mask=real.long(), output_hidden_states=True, **given)
    head = ours.logits if isinstance(ours, Gpt) else ours.heads["masked_lm"]
    expected = [state[real] for state in result.hidden_states]
    logits = head(hidden)[real], result.logits[real]
    return Outputs(models, logits, list(zip(states, expected, strict=True)))


def bert(folder: Path) -> Outputs:
    """With segments."""
    peers = library("transformers")
    models = _both(peers.BertForMaskedLM(peers.BertConfig(vocab_size=99, **SIZES)), folder)
    ids = _padded_ids(99, 0)
    return _one_stack(models, ids, 0, ("embeddings", "encoder"), torch.randint(0, 2, ids.shape))


def gpt(folder: Path) -> Outputs:
    """Causal."""
    peers = library("transformers")
    config = peers.GPT2Config(
        vocab_size=99, n_embd=40, n_layer=3, n_head=4, n_positions=24, n_inner=56,
        bos_token_id=2, eos_token_id=2,
    )  # fmt: skip
    models = _both(peers.GPT2LMHeadModel(config), folder)
    return _one_stack(models, _padded_ids(99, 0), 0, ("positions", "decoder"))


def esm(folder: Path) -> Outputs:
    """With rotary positions and some masked residues."""
    peers = library("transformers")
    config = peers.EsmConfig(
        vocab_size=33, mask_token_id=32, pad_token_id=1, position_embedding_type="rotary",
        token_dropout=True, emb_layer_norm_before=False, **SIZES,
    )  # fmt: skip
    models = _both(peers.EsmForMaskedLM(config), folder)
    ids = _padded_ids(33, 1)
    ids[1, 5:9] = ids[3, 2] = 32
    return _one_stack(models, ids, 1, ("embed", "encoder"))


def marian(folder: Path) -> Outputs:
    """Encoder and decoder; the target begins with the padding token."""
    peers, pad, longest = library("transformers"), 69, max(LENGTHS)
    config = peers.MarianConfig(
        vocab_size=70, d_model=40, encoder_layers=3, decoder_layers=2, encoder_ffn_dim=56,
        decoder_ffn_dim=56, encoder_attention_heads=4, decoder_attention_heads=4,
        max_position_embeddings=24, pad_token_id=pad, decoder_start_token_id=pad, eos_token_id=0,
        forced_eos_token_id=None, activation_function="swish", scale_embedding=True,
    )  # fmt: skip
    model = peers.MarianMTModel(config)
    model.final_logits_bias.normal_()
    ours, theirs = _both(model, folder)
    src, tgt = _padded_ids(pad, pad), _padded_ids(pad, pad, (longest,) * len(LENGTHS))
    tgt[:, 0] = pad
    mask, real, whole = padding_mask(src, pad), src != pad, torch.ones_like(tgt, dtype=torch.bool)
    memory, encoded = _with_states(ours, lambda: ours.encode(src, mask), real, "src_pos", "encoder")
    hidden, decoded = _with_states(
        ours,
        lambda: ours.decode(memory, mask, tgt, look_ahead_mask(longest)),
        whole, "tgt_pos", "decoder",
    )  # fmt: skip
    result = theirs(src, real.long(), tgt, output_hidden_states=True)
    expected = [state[real] for state in result.encoder_hidden_states]
    expected += [state[whole] for state in result.decoder_hidden_states]
    logits = ours.projection_layer.logits(hidden).flatten(0, 1), result.logits.flatten(0, 1)
    return Outputs((ours, theirs), logits, list(zip([*encoded, *decoded], expected, strict=True)))


def greedy() -> Deviation:
    """Prompts of two lengths in one batch of ours, one by one in theirs; differing tokens."""
    peers = library("transformers")
    config = peers.GPT2Config(
        vocab_size=199, n_embd=40, n_layer=3, n_head=4, n_positions=230, bos_token_id=2,
        eos_token_id=2,
    )  # fmt: skip
    with TemporaryDirectory() as folder, quiet():
        library("transformers.utils.logging").disable_progress_bar()
        ours, theirs = _both(peers.GPT2LMHeadModel(config), Path(folder), noise=0.05)
    prompts = [torch.randint(3, 199, (length,)).tolist() for length in PROMPTS]
    options = SamplingOptions(max_new_tokens=TOKENS, temperature=0, ignore_eos=True)
    different = 0
    for prompt, found in zip(prompts, generate(ours, prompts, options), strict=True):
        ids = torch.tensor([prompt])
        expected = theirs.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=TOKENS, do_sample=False,
            eos_token_id=None, pad_token_id=0,
        )[0, len(prompt) :].tolist()  # fmt: skip
        different += sum(a != b for a, b in zip(found.ids, expected, strict=True))
    total = TOKENS * len(prompts)
    note = f"{total - different} of {total} tokens are the same"
    return Deviation(0.0, None, different, note)


def filters() -> Deviation:
    """All filters on the same logits, one after the other, in their order."""
    process = library("transformers.generation.logits_process")
    options = SamplingOptions(temperature=0.8, top_k=60, top_p=0.9, min_p=0.02)
    logits, earlier = torch.randn(7, 211) * 3, torch.randint(0, 211, (7, 13))
    expected = logits
    for theirs in (
        process.RepetitionPenaltyLogitsProcessor(1.2), process.TemperatureLogitsWarper(0.8),
        process.TopKLogitsWarper(60), process.TopPLogitsWarper(0.9), process.MinPLogitsWarper(0.02),
    ):  # fmt: skip
        expected = theirs(earlier, expected)
    seen = torch.zeros(7, 211, dtype=torch.bool).scatter_(1, earlier, True)
    found = sampling.warped(sampling.repetition_penalty(logits, seen, 1.2), options)
    different = int((found.isinf() != expected.isinf()).sum())
    kept = ~(found.isinf() | expected.isinf())
    note = f"{int(kept.sum())} of {kept.numel()} tokens remain possible"
    return Deviation(largest_difference([(found[kept], expected[kept])]), None, different, note)
