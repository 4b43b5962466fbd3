"""Text generation by a GPT: greedy tokens and the filters of sampling, against transformers."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from clearhead.compare.environment import library
from clearhead.compare.proofs.proof import Deviation, Proof, largest_difference
from clearhead.decoding import sampling
from clearhead.decoding.engine import SamplingOptions
from clearhead.decoding.generation import generate
from clearhead.export.exporting import quiet
from clearhead.models import Gpt
from clearhead.pretrained import from_pretrained

TOKENS, LENGTHS = 200, (9, 17)


def proofs() -> Iterator[Proof]:
    """Greedy texts, and the changes to a distribution before sampling."""
    ours = f"Gpt, {TOKENS} greedy tokens of 2 prompts, with a cache"
    yield Proof(ours, "GPT2LMHeadModel.generate", "float32", 0.0, greedy)
    ours = "temperature, top-k, top-p, min-p, repetition penalty"
    yield Proof(ours, "its logits processors", "float32", 0.0, filters)


def greedy() -> Deviation:
    """Prompts of two lengths in one batch of ours, one by one in theirs; differing tokens."""
    peers = library("transformers")
    config = peers.GPT2Config(
        vocab_size=199, n_embd=40, n_layer=3, n_head=4, n_positions=230, bos_token_id=2,
        eos_token_id=2,
    )  # fmt: skip
    theirs = peers.GPT2LMHeadModel(config).eval()
    with torch.no_grad(), TemporaryDirectory() as folder, quiet():
        library("transformers.utils.logging").disable_progress_bar()
        for parameter in theirs.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.05)
        theirs.save_pretrained(Path(folder))
        ours = from_pretrained(folder)
    assert isinstance(ours, Gpt)
    prompts = [torch.randint(3, 199, (length,)).tolist() for length in LENGTHS]
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
