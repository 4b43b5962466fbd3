"""Training on translation: the same corpus, loss, optimizer and time for every model.

Time spent in evaluation does not count. A model that learns more per token may still have seen
fewer tokens when the time is over, if its steps are slower.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from clearhead.compare.rnn.findings import CurvePoint
from clearhead.compare.rnn.translator import NAMES, Model, engine_of, make_model
from clearhead.compare.timing import Progress
from clearhead.compare.workloads import MAX_LENGTH, SMOOTHING
from clearhead.data.batching import BatchPlan, TokenBatches
from clearhead.data.corpus import open_pairs
from clearhead.data.encoded import EncodedCorpus
from clearhead.data.pairs import Pair
from clearhead.decoding import DecodingOptions
from clearhead.errors import UserError
from clearhead.evaluation.scores import score
from clearhead.fast import accelerate
from clearhead.models import Transformer, TransformerConfig
from clearhead.text import Tokenizer
from clearhead.training.objective import Losses, translation_loss

PEAK, WARMUP, CLIP = 2e-3, 100, 1.0
EXTRA_TOKENS = 5  # that a translation may have beyond the longest reference
Ids = NDArray[np.int64]


class SimpleTrainer:
    """Adam in float32, the precision that torch's recurrent layers support everywhere.

    The learning rate rises over `WARMUP` steps and falls to zero over the last third of the time.
    """

    def __init__(self, model: Model, peak: float = PEAK) -> None:
        self.model, self.peak = model.train(), peak
        if isinstance(model, Transformer):
            accelerate(model)  # as `clearhead train` does; the same function
        parameters = list(model.parameters())
        self.optimizer = torch.optim.Adam(parameters, lr=0.0, betas=(0.9, 0.98), fused=True)
        self.steps = self.tokens = 0

    def step(self, source: Ids, target: Ids, elapsed: float = 0.0) -> float:
        """One update; `elapsed` is the share of the time, 0 to 1. Returns nats per token."""
        self.steps += 1
        rate = self.peak * min(1.0, self.steps / WARMUP, max(0.0, 3 * (1 - elapsed)))
        self.optimizer.param_groups[0]["lr"] = rate
        losses = loss_of(self.model, source, target, SMOOTHING)
        (losses.smoothed / losses.tokens).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.tokens += losses.tokens
        return float(losses.nll) / losses.tokens


def loss_of(model: Model, source: Ids, target: Ids, smoothing: float) -> Losses:
    """The translator's loss, which only calls `encode`, `decode` and `project`."""
    return translation_loss(cast(Transformer, model), source, target, smoothing)


def even_shares(count: int) -> list[float]:
    """`count` evaluations at equal intervals, the last at the end."""
    return [number / count for number in range(1, count + 1)]


@dataclass(frozen=True)
class TranslationTask:
    """Corpus, training time, and the shares of the time after which a model is evaluated."""

    title: str
    train: str
    dev: str
    pairs: int  # at most
    dev_pairs: int
    seconds: float
    evaluations: list[float]  # ascending, the last is 1
    batch_tokens: int
    vocabulary: int


GRAMMAR = TranslationTask(
    "Grammar corpus",
    train="grammar:train:20000",
    dev="grammar:dev:200",
    pairs=20000,
    dev_pairs=200,
    seconds=45,
    evaluations=even_shares(4),
    batch_tokens=1024,
    vocabulary=2000,
)
QUICK = TranslationTask(
    "Grammar corpus", "grammar:train:60", "grammar:dev:9", 60, 9, 0.4, even_shares(2), 256, 400
)


def read_pairs(task: TranslationTask) -> tuple[list[Pair], list[Pair]]:
    """Training pairs and development pairs, without common sources.

    If both come from one file, its first pairs are the development set.

    Raises:
        UserError: the corpus is too small.
    """
    if task.dev != task.train:
        pairs = list(islice(open_pairs(task.train), task.pairs))
        dev = list(islice(open_pairs(task.dev), task.dev_pairs))
    else:
        found = list(islice(open_pairs(task.train), task.pairs + task.dev_pairs))
        dev = found[: task.dev_pairs]
        sources = {pair.source for pair in dev}
        pairs = [pair for pair in found[task.dev_pairs :] if pair.source not in sources]
    if not pairs or not dev:
        raise UserError(
            f"{task.train} holds too few pairs to train and evaluate on "
            f"({task.dev_pairs} for evaluation); give a larger file with --data"
        )
    return pairs, dev


class Experiment:
    """A corpus in batches, its tokenizer and its development set; `train` runs one model."""

    def __init__(self, task: TranslationTask, folder: Path) -> None:
        self.task = task
        pairs, dev = read_pairs(task)
        self.tokenizer = Tokenizer.train([text for pair in pairs for text in pair], task.vocabulary)
        encode = self.tokenizer.encode_batch
        self.corpus = EncodedCorpus.build(pairs, encode, folder / "train", MAX_LENGTH)
        dev_corpus = EncodedCorpus.build(dev, encode, folder / "dev", MAX_LENGTH)
        batches, self.dev_batches = self._batches(dev_corpus, 2048), []
        while batches.epoch == 0:
            self.dev_batches.append(next(batches))
        self.references = [pair.target for pair in dev]
        eos_id = self.tokenizer.eos_id
        ids = encode([pair.source for pair in dev])
        self.sources = [[*row[: MAX_LENGTH - 1], eos_id] for row in ids]
        # An untrained model may never produce EOS.
        limit = EXTRA_TOKENS + min(MAX_LENGTH, max(map(len, encode(self.references))))
        self.search = DecodingOptions(beam_size=1, max_length=limit)

    def _batches(self, corpus: EncodedCorpus, tokens: int) -> TokenBatches:
        pad_id, eos_id = self.tokenizer.pad_id, self.tokenizer.eos_id
        return TokenBatches(corpus, BatchPlan(tokens, pad_id=pad_id, eos_id=eos_id))

    def train(self, model: Model, peak: float = PEAK) -> list[CurvePoint]:
        """Train until the time is over; one point per evaluation."""
        trainer = SimpleTrainer(model, peak)
        batches = self._batches(self.corpus, self.task.batch_tokens)
        spent, curve = 0.0, []
        for share in self.task.evaluations:
            while spent < share * self.task.seconds:
                start = time.perf_counter()
                batch = next(batches)
                trainer.step(batch.source, batch.target, spent / self.task.seconds)
                spent += time.perf_counter() - start
            curve.append(CurvePoint(spent, trainer.tokens, *self.evaluate(model)))
        return curve

    def evaluate(self, model: Model) -> tuple[float, float]:
        """Nats per token and greedy BLEU on the development set; training can continue."""
        model.eval()
        with torch.inference_mode():
            losses = [loss_of(model, batch.source, batch.target, 0.0) for batch in self.dev_batches]
            loss = sum(float(one.nll) for one in losses) / sum(one.tokens for one in losses)
        found = engine_of(model).decode(self.sources, self.search)
        model.train()
        texts = self.tokenizer.decode_batch([best[0].ids for best in found])
        return loss, score(texts, self.references).bleu.value


def train_all(
    experiment: Experiment, config: TransformerConfig, progress: Progress
) -> Iterator[tuple[str, Model, list[CurvePoint]]]:
    """Every model after training, with its learning curve."""
    size = experiment.tokenizer.vocab_size
    config = replace(config, src_vocab_size=size, tgt_vocab_size=size)
    for name in NAMES:
        progress(f"  {name}, {experiment.task.seconds:.0f} s")
        model = make_model(name, config, seed=1)
        yield name, model, experiment.train(model)
