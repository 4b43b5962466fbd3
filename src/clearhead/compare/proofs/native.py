"""The native engine in float32 against the block files, with every kernel of this machine."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import torch
from torch import Tensor

from clearhead.compare.proofs import fixtures as f
from clearhead.compare.proofs.proof import Deviation, Proof, largest_difference
from clearhead.decoding import DecodingOptions, NativeEngine, ReadableEngine
from clearhead.models import Bert, BertConfig, Gpt, GptConfig
from clearhead.models.native import native_model
from clearhead.native.choice import missing_library
from clearhead.native.model import kernel_names
from clearhead.native.session import Session, forced_scores, hidden_states

BOUND = 1e-4
EPS = 1e-6


def proofs() -> Iterator[Proof]:
    """None if the installation has no compiled engine."""
    if missing_library():
        return
    proof = partial(Proof, precision="float32", bound=BOUND)
    for kernels in kernel_names():
        for position in f.NORM_POSITIONS:
            ours = f"native, {kernels}, {position}-norm, log-probabilities"
            find = partial(log_probabilities, position, kernels)
            yield proof(ours, "the readable Transformer", find=find)
    yield proof("native, beam search", "the readable engine", find=hypotheses)
    yield proof("native, GPT-2, logits", "the readable Gpt", find=gpt)
    yield proof("native, BERT, hidden states", "the readable Bert", find=bert)


@torch.no_grad()
def log_probabilities(position: f.NormPosition, kernels: str) -> Deviation:
    """Of every target token of four pairs; the native engine gets the sources without padding."""
    model = f.small_transformer(position, torch.float32, EPS)
    src, tgt = f.small_batch(model)
    expected = model.project(f.decode(model, src, tgt))
    native = native_model(model, kernels=kernels)
    pairs = []
    for source, target, own in zip(src, tgt, expected, strict=True):
        labels = target.roll(-1).tolist()
        ids = [int(i) for i in source if i != model.config.pad_id]
        found = forced_scores(native, ids, target.tolist(), labels)
        pairs.append((torch.from_numpy(found), own[torch.arange(len(labels)), labels]))
    return Deviation(largest_difference(pairs))


@torch.no_grad()
def hypotheses() -> Deviation:
    """The scores of n-best lists, and the number of hypotheses that differ."""
    model = f.small_transformer("pre", torch.float32, EPS)
    sources = [[5, 9, 2], [4, 11, 6, 7, 8, 2], [3, 2]]
    options = DecodingOptions(beam_size=4, n_best=3, max_length=9)
    native = NativeEngine(model.config, native_model(model)).decode(sources, options)
    readable = ReadableEngine.of(model).decode(sources, options)
    pairs = [
        (one, other)
        for ours, theirs in zip(native, readable, strict=True)
        for one, other in zip(ours, theirs, strict=True)
    ]
    scores = [(torch.tensor(one.score), torch.tensor(other.score)) for one, other in pairs]
    different = sum(one.ids != other.ids for one, other in pairs)
    return Deviation(largest_difference(scores), mismatches=different)


@torch.no_grad()
def gpt() -> Deviation:
    """The logits at every position, computed in two calls."""
    model = Gpt.from_config(GptConfig(31, 17, 12, 2, 3, 20)).eval()
    ids = torch.randint(0, 31, (1, 9))
    session = Session(native_model(model), 5, 1, 17)
    found: list[Tensor] = []
    for first, end in ((0, 5), (5, 9)):
        count = end - first
        positions = np.arange(first, end, dtype=np.int32)
        session.decode(ids[0, first:end].int().numpy(), positions, np.zeros(count, np.int32))
        found.append(torch.from_numpy(session.logits(count)))
    return Deviation(largest_difference([(torch.cat(found), model.logits(model(ids))[0])]))


@torch.no_grad()
def bert() -> Deviation:
    """The last hidden states of two texts of different lengths."""
    model = Bert.from_config(BertConfig(31, 17, 12, 2, 3, 20)).eval()
    texts = [torch.randint(0, 31, (1, length)) for length in (7, 4)]
    embedded = [model.embeddings(ids, torch.zeros_like(ids))[0].numpy() for ids in texts]
    found = hidden_states(native_model(model), embedded)
    expected = [model(ids)[0] for ids in texts]
    return Deviation(largest_difference(zip(map(torch.from_numpy, found), expected, strict=True)))
