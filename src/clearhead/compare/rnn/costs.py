"""Time and memory of a training step and of decoding, by length of the sentences.

A Transformer processes all tokens of a batch in parallel, however they are divided into sentences;
only its attention grows with their length. An RNN takes as many sequential steps as a sentence has
tokens, and the longer the sentences, the fewer rows share a step. In decoding, the Transformer
keeps keys and values of all tokens so far, the RNN one state of constant size.
"""

import time
from functools import partial
from statistics import median
from typing import NamedTuple

import torch

from clearhead.compare.rnn.findings import DecodingCost, PerModel, StepCost
from clearhead.compare.rnn.training import Ids, SimpleTrainer, loss_of
from clearhead.compare.rnn.translator import NAMES, Model, RnnSteps, RnnTranslator, make_model
from clearhead.compare.timing import Candidate, Progress, measure
from clearhead.compare.workloads import first_token, random_ids
from clearhead.decoding.steps import CachedSteps
from clearhead.models import TransformerConfig

SOURCE_TOKENS = 16  # of the source sentence in decoding
Batch = tuple[Ids, Ids]


def measure_step_cost(
    config: TransformerConfig,
    lengths: list[int],
    tokens: int,
    limits: tuple[int, float],
    progress: Progress,
) -> StepCost:
    """Duration of training steps on `tokens` tokens, and memory kept for the backward pass.

    `limits`: rounds per length, and seconds after which only one more round per length is run.
    """
    (rounds, time_limit), start = limits, time.perf_counter()
    trainers = {name: SimpleTrainer(make_model(name, config, seed=1)) for name in NAMES}
    seconds: PerModel = {name: [] for name in NAMES}
    megabytes: PerModel = {name: [] for name in NAMES}
    for length in lengths:
        progress(f"  {tokens // length} sentences of {length} tokens")
        batch = batch_of(config, tokens, length)
        candidates = [Candidate(name, partial(train_step, trainers[name], batch)) for name in NAMES]
        late = time.perf_counter() - start > time_limit
        found = measure(candidates, 1 if late else rounds, warmup=0 if late else 1)
        for name in NAMES:
            seconds[name].append(median(one.seconds for one in found[name]))
            megabytes[name].append(activation_bytes(trainers[name], batch) / 1e6)
    return StepCost(tokens, lengths, seconds, megabytes)


def batch_of(config: TransformerConfig, tokens: int, length: int) -> Batch:
    """Random source and target sentences without padding: (tokens / length, length) each."""
    ids = random_ids(config, max(1, tokens // length), length)
    ids[:, :, -1] = config.eos_id
    return ids[0], ids[1]


def train_step(trainer: SimpleTrainer, batch: Batch) -> float:
    """One step; returns the number of target tokens."""
    trainer.step(*batch)
    return float(batch[1].size)


def activation_bytes(trainer: SimpleTrainer, batch: Batch) -> int:
    """Bytes that a forward pass keeps for the backward pass, weights not counted."""
    weights = {parameter.untyped_storage().data_ptr() for parameter in trainer.model.parameters()}
    found: dict[int, int] = {}

    def record(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            found[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(record, lambda tensor: tensor):
        losses = loss_of(trainer.model, *batch, 0.0)
    del losses  # until here the graph held all tensors, so no address was used twice
    return sum(found.values())


class Cost(NamedTuple):
    """Duration of one translation, and the memory of its state at the end."""

    seconds: float
    nbytes: int


def measure_decoding_cost(
    config: TransformerConfig, lengths: list[int], rounds: int, progress: Progress
) -> DecodingCost:
    """The fastest round of each length, and the memory at its end."""
    microseconds: PerModel = {}
    kilobytes: PerModel = {}
    for name in NAMES:
        progress(f"  {name}")
        model = make_model(name, config, seed=1).eval()
        best = [min(decode_tokens(model, length) for _ in range(rounds)) for length in lengths]
        microseconds[name] = [1e6 * one.seconds / n for one, n in zip(best, lengths, strict=True)]
        kilobytes[name] = [one.nbytes / 1e3 for one in best]
    return DecodingCost(lengths, microseconds, kilobytes)


def decode_tokens(model: Model, length: int) -> Cost:
    """Decode one sentence of exactly this length, always feeding the same token.

    The projection is left out, since it is the same in all models.
    """
    first = first_token(model.config)
    src, token = torch.full((1, SOURCE_TOKENS), first), torch.tensor([first])
    with torch.inference_mode():
        steps: RnnSteps | CachedSteps = (
            RnnSteps(model, src) if isinstance(model, RnnTranslator) else CachedSteps(model, src)
        )
        start = time.perf_counter()
        for _ in range(length):
            steps.hidden(token)
        return Cost(time.perf_counter() - start, _state_bytes(steps))


def _state_bytes(steps: RnnSteps | CachedSteps) -> int:
    if isinstance(steps, RnnSteps):
        return steps.state.nbytes()
    cached = [projection.outputs for projection in (*steps.cache.growing, *steps.cache.constant)]
    return sum(x.numel() * x.element_size() for x in cached if x is not None)
