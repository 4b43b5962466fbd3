"""The engine of translation: ids in, ids out."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn

from clearhead.blocks import padding_mask
from clearhead.decoding.batching import batches_by_tokens, padded
from clearhead.decoding.beam import beam_search
from clearhead.decoding.greedy import greedy_search
from clearhead.decoding.hypothesis import Hypothesis
from clearhead.decoding.next_token import NextToken
from clearhead.decoding.options import DecodingOptions
from clearhead.errors import UserError
from clearhead.models import Transformer


def decode(
    model: Transformer,
    sources: Sequence[Sequence[int]],
    options: DecodingOptions | None = None,
) -> list[list[Hypothesis]]:
    """Translate each source, ids with their end sign, into its n_best hypotheses, best first.

    Sentences of like length are decoded together and come back in the order
    given; a sentence's translation does not depend on its company.

    Raises:
        UserError: a source is empty or longer than the model's positions.
    """
    options = options or DecodingOptions()
    lengths = [len(source) for source in sources]
    _check(lengths, model.config.src_seq_len)
    results: list[list[Hypothesis]] = [[] for _ in sources]
    with in_eval_mode(model), torch.inference_mode():
        for batch in batches_by_tokens(lengths, options.batch_tokens // options.beam_size):
            found = _decode_batch(model, [sources[i] for i in batch], options)
            for i, hypotheses in zip(batch, found, strict=True):
                results[i] = hypotheses
    return results


@contextmanager
def in_eval_mode(model: nn.Module) -> Iterator[None]:
    """Without dropout; a model in training goes back to it afterwards."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


def _decode_batch(
    model: Transformer, sources: Sequence[Sequence[int]], options: DecodingOptions
) -> list[list[Hypothesis]]:
    config = model.config
    device = next(model.parameters()).device
    src = padded(sources, config.pad_id, device)
    src_mask = padding_mask(src, config.pad_id)
    memory = model.encode(src, src_mask)
    if not memory.isfinite().all():
        raise UserError(
            "the encoder's output is not finite: the model's weights are damaged or its "
            "training diverged; use another checkpoint"
        )
    limits = [options.limit(len(source), config.tgt_seq_len) for source in sources]
    engine = NextToken(model, options)
    engine.decoder.start(memory, src_mask, options.beam_size)
    search = greedy_search if options.beam_size == 1 else beam_search
    return search(engine, torch.tensor(limits, device=device))


def _check(lengths: list[int], most: int) -> None:
    for number, length in enumerate(lengths):
        if length == 0:
            raise UserError(f"source {number} is empty; expected ids that end with the end sign")
        if length > most:
            raise UserError(
                f"source {number} has {length} tokens, end sign included, but this model has "
                f"src_seq_len={most} positions; split the sentence"
            )
