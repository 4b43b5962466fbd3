"""The engine of translation: ids in, ids out."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn

from clearhead.decoding.arrivals import Arrivals
from clearhead.decoding.batching import streams
from clearhead.decoding.beam import beam_search
from clearhead.decoding.engine import Engine
from clearhead.decoding.greedy import greedy_search
from clearhead.decoding.hypothesis import Hypothesis
from clearhead.decoding.next_token import NextToken
from clearhead.decoding.options import DecodingOptions
from clearhead.decoding.side_by_side import cores_for, on_cores, searches_at_once, side_by_side
from clearhead.errors import UserError
from clearhead.fast.memory import give_back_gaps
from clearhead.models import Transformer


def decode(
    model: Transformer | Engine,
    sources: Sequence[Sequence[int]],
    options: DecodingOptions | None = None,
) -> list[list[Hypothesis]]:
    """Translate each source, ids with their end sign, into its n_best hypotheses, best first.

    Sentences of like length are decoded together and come back in the order
    given; a sentence's translation does not depend on its company. A model is
    served by the fastest engine that computes the same; give an `Engine` to
    choose another, or another precision.

    Raises:
        UserError: a source is empty or longer than the model's positions.
    """
    options = options or DecodingOptions()
    lengths = [len(source) for source in sources]
    _check(lengths, model.config.src_seq_len)
    results: list[list[Hypothesis]] = [[] for _ in sources]
    with in_eval_mode(model), torch.inference_mode():
        engine = model if isinstance(model, Engine) else Engine.of(model)
        # A repetition is sought in histories of one length.
        refilled = engine.can_replace and options.refill and not options.no_repeat_ngram
        tokens = options.batch_tokens // options.beam_size
        for places, stream in streams(lengths, tokens, options.batch_sentences, refilled):
            found = _decode_stream(engine, [sources[i] for i in stream], options, places)
            for i, hypotheses in zip(stream, found, strict=True):
                results[i] = hypotheses
            give_back_gaps()
    return results


@contextmanager
def in_eval_mode(model: object) -> Iterator[None]:
    """Without dropout; a model in training goes back to it afterwards. An engine never drops."""
    if not isinstance(model, nn.Module):
        yield
        return
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)


def _decode_stream(
    engine: Engine, sources: Sequence[Sequence[int]], options: DecodingOptions, places: int
) -> list[list[Hypothesis]]:
    """As many searches side by side as pay, each with its share of the sentences."""
    count = searches_at_once(engine, len(sources), options.beam_size)
    searches = [Search(engine, sources[i::count], options, places) for i in range(count)]
    if count == 1:
        with on_cores(cores_for(engine, searches[0].places * options.beam_size)):
            return searches[0].run()
    results: list[list[Hypothesis]] = [[] for _ in sources]

    def stop() -> None:
        for search in searches:
            search.arrivals.stop()

    for i, found in enumerate(side_by_side([search.run for search in searches], stop)):
        results[i::count] = found
    return results


class Search:
    """Greedy or beam search of sentences that go through so many places."""

    def __init__(
        self,
        engine: Engine,
        sources: Sequence[Sequence[int]],
        options: DecodingOptions,
        places: int,
    ) -> None:
        limits = [options.limit(len(source), engine.config.tgt_seq_len) for source in sources]
        self.limits = torch.tensor(limits, device=engine.device)
        self.places = min(places, len(sources))
        self.arrivals = Arrivals(engine, sources, self.places)
        self.next_token = NextToken(engine, options)

    def run(self) -> list[list[Hypothesis]]:
        """The hypotheses of each sentence, in the order of the sources."""
        one = self.next_token.options.beam_size == 1
        search = greedy_search if one else beam_search
        return search(self.next_token, self.arrivals, self.limits)


def _check(lengths: list[int], most: int) -> None:
    for number, length in enumerate(lengths):
        if length == 0:
            raise UserError(f"source {number} is empty; expected ids that end with the end sign")
        if length > most:
            raise UserError(
                f"source {number} has {length} tokens, end sign included, but this model has "
                f"src_seq_len={most} positions; split the sentence"
            )
