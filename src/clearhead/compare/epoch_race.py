"""Training on real sentences, batching included: token batches against fixed padding.

Each round gives either side the same seconds of its own walk through the same
corpus, and counts the target tokens (without padding) that it learnt from. So the
race ends in minutes, and the time of a whole epoch follows from the rates.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from clearhead.compare.clearhead_training import NAME, WORDS, make_trainer, precisions
from clearhead.compare.didactic_loop import DidacticLoop
from clearhead.compare.race import Contestant, Laps, fastest, race
from clearhead.compare.results import Duel, Heat
from clearhead.data.batching import BatchPlan, TokenBatches
from clearhead.data.encoded import EncodedCorpus
from clearhead.models import TransformerConfig
from clearhead.training.trainer import Trainer

DIDACTIC = "didactic loop, fixed padding, float32"
BAR = 4.0


@dataclass(frozen=True)
class Epoch:
    """The corpus and how it is cut: `batch_tokens` positions a batch, padding included."""

    config: TransformerConfig
    corpus: EncodedCorpus
    batch_tokens: int

    @property
    def longest(self) -> int:
        """Tokens of the longest sentence, end sign included: what fixed padding fills up to."""
        return 1 + max(int(side.max()) for side in self.corpus.lengths(0, len(self.corpus)))

    @property
    def target_tokens(self) -> int:
        """All that an epoch learns from, end signs included."""
        return int(self.corpus.lengths(0, len(self.corpus))[1].sum()) + len(self.corpus)


def epoch_heat(
    epoch: Epoch, seconds: float, rounds: int, say: Callable[[str], None] = print
) -> tuple[Heat, list[str]]:
    """The race, and remarks on the sample and on the time of a whole epoch."""
    rows = max(1, epoch.batch_tokens // epoch.longest)
    loop = DidacticLoop(epoch.corpus, epoch.config, rows, epoch.longest)
    runners = [Contestant(DIDACTIC, _for(seconds, loop.step))]
    formats = precisions(torch.device("cpu"))
    walks = {f"{NAME}, token batches, {WORDS[p]}": _walk(epoch) for p in formats}
    for precision, (name, walk) in zip(formats, walks.items(), strict=True):
        trainer = make_trainer(epoch.config, walk, torch.device("cpu"), precision)
        runners.append(Contestant(name, _for(seconds, _step_of(trainer))))
    laps = race(runners, rounds, 1, say=say)
    notes = {name: f"{100 * walk.padding_share:.0f} % padding" for name, walk in walks.items()}
    filled = epoch.target_tokens / (len(epoch.corpus) * epoch.longest)
    notes[DIDACTIC] = f"{100 * (1 - filled):.0f} % padding"
    ours = fastest(laps, NAME)
    assert ours is not None
    duels = [Duel(ours, DIDACTIC, BAR)]
    plain = f"{NAME}, token batches, float32"
    duels += [Duel(plain, DIDACTIC)] if plain != ours else []
    title = f"An epoch of {len(epoch.corpus):,} pairs, batching included"
    return Heat(title, "target tokens/s", laps, duels, notes), _remarks(epoch, laps, rows, seconds)


def _walk(epoch: Epoch) -> TokenBatches:
    config = epoch.config
    plan = BatchPlan(epoch.batch_tokens, pad_id=config.pad_id, eos_id=config.eos_id)
    return TokenBatches(epoch.corpus, plan)


def _step_of(trainer: Trainer) -> Callable[[], float]:
    return lambda: trainer.step().tokens


def _for(seconds: float, step: Callable[[], float]) -> Callable[[], float]:
    def run() -> float:
        end, tokens = time.perf_counter() + seconds, 0.0
        while not tokens or time.perf_counter() < end:
            tokens += step()
        return tokens

    return run


def _remarks(epoch: Epoch, laps: Laps, rows: int, seconds: float) -> list[str]:
    whole = {
        name: sorted(epoch.target_tokens / lap.rate for lap in own)[len(own) // 2]
        for name, own in laps.items()
    }
    times = "; ".join(f"{name} {value:,.0f} s" for name, value in whole.items())
    return [
        f"sample: {seconds:g} s a side and round, each going on where it stood in its own epoch; "
        f"fixed padding to the longest sentence, {epoch.longest} tokens, {rows} pairs a batch; "
        f"token batches of at most {epoch.batch_tokens:,} positions",
        f"a whole epoch ({epoch.target_tokens:,} target tokens) at these rates: {times}",
    ]
