"""How many tokens a second this machine really gets through."""

from collections.abc import Callable
from statistics import median

import torch

from clearhead.compare.race import Contestant, race
from clearhead.compare.rnn.lesson import Learner
from clearhead.compare.rnn.wall import full_batch, kept
from clearhead.compare.width.rungs import translator
from clearhead.models import Transformer
from clearhead.models.bert import Bert, BertConfig


def training_speed(
    widths: list[int], vocabulary: int, shape: tuple[int, int], rounds: int
) -> tuple[dict[int, float], dict[int, float]]:
    """Target tokens a second of a training step, and MB kept for its way back, at each width.

    `shape`: tokens a batch, tokens a sentence. The widths alternate, round by round.
    """
    batch = full_batch(translator(widths[0], vocabulary), *shape)
    learners = {width: _learner(width, vocabulary) for width in widths}

    def step(learner: Learner) -> Callable[[], float]:
        def run() -> float:
            learner.step(*batch, gone=0.0)
            return float(batch[1].size)

        return run

    runners = [Contestant(str(width), step(learner)) for width, learner in learners.items()]
    laps = race(runners, rounds)
    rates = {width: median(lap.rate for lap in laps[str(width)]) for width in widths}
    return rates, {width: kept(learner, batch) / 1e6 for width, learner in learners.items()}


def reading_speed(config: BertConfig, length: int, rounds: int) -> float:
    """Tokens a second of one text read by a model as published, weights at random."""
    model = Bert.from_config(config).eval()
    ids = torch.randint(5, config.vocab_size, (1, length))

    def read() -> float:
        with torch.inference_mode():
            model(ids)
        return float(length)

    laps = race([Contestant("", read)], rounds)
    return median(lap.rate for lap in laps[""])


def _learner(width: int, vocabulary: int) -> Learner:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return Learner(Transformer.from_config(translator(width, vocabulary)))
