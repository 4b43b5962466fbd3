"""Translation: the same corpus, the same minutes, and BLEU on the way.

Judging does not count as learning time. Seconds are seconds of this machine: who learns more
from a token may still have read fewer of them when the time is over.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from clearhead.compare.rnn.entrants import NAMES, Model, make
from clearhead.compare.rnn.greedy import translate
from clearhead.compare.rnn.lesson import PEAK, Learner, loss_of
from clearhead.compare.rnn.numbers import Point
from clearhead.data.batching import BatchPlan, TokenBatches
from clearhead.data.corpus import open_pairs
from clearhead.data.encoded import EncodedCorpus
from clearhead.data.pairs import Pair
from clearhead.decoding import DecodingOptions, decode
from clearhead.errors import UserError
from clearhead.evaluation.scores import score
from clearhead.models import Transformer, TransformerConfig
from clearhead.text import Tokenizer

LONGEST = 100  # tokens a side
ROOM = 5  # tokens that a translation may have more than the longest reference


def evenly(looks: int) -> list[float]:
    """So many looks, each as long after the one before."""
    return [number / looks for number in range(1, looks + 1)]


@dataclass(frozen=True)
class Course:
    """What is learnt, how long, and when it is looked at: after these shares of the time."""

    title: str
    train: str
    dev: str
    pairs: int
    dev_pairs: int
    seconds: float
    looks: list[float]  # ascending, the last is 1
    batch_tokens: int
    vocabulary: int


class Classroom:
    """A corpus as batches, its vocabulary, and a judge: the same for everybody who learns here."""

    def __init__(self, course: Course, folder: Path) -> None:
        self.course = course
        pairs, dev = read(course)
        self.tokenizer = Tokenizer.train(
            [text for pair in pairs for text in pair], course.vocabulary
        )
        encode = self.tokenizer.encode_batch
        self.corpus = EncodedCorpus.build(pairs, encode, folder / "train", LONGEST)
        self.judge = Judge(dev, self.tokenizer, folder / "dev")

    def learn(self, model: Model, peak: float = PEAK) -> list[Point]:
        """The curve of a model that begins here and now."""
        signs = self.tokenizer
        plan = BatchPlan(self.course.batch_tokens, pad_id=signs.pad_id, eos_id=signs.eos_id)
        learner = Learner(model, peak)
        return list(learn(learner, TokenBatches(self.corpus, plan), self.judge, self.course))


def teach(
    course: Course, config: TransformerConfig, say: Callable[[str], None]
) -> Iterator[tuple[str, Model, list[Point]]]:
    """One entrant after the other, each with its curve and as it is at the end."""
    with TemporaryDirectory() as folder:
        room = Classroom(course, Path(folder))
        for name in NAMES:
            say(f"  {name}, {course.seconds:.0f} s")
            model = make(name, sized(config, room.tokenizer.vocab_size), seed=1)
            yield name, model, room.learn(model)


def sized(config: TransformerConfig, vocabulary: int) -> TransformerConfig:
    """The same model over another vocabulary."""
    return replace(config, src_vocab_size=vocabulary, tgt_vocab_size=vocabulary)


def read(course: Course) -> tuple[list[Pair], list[Pair]]:
    """Training pairs and pairs to judge by; where one file serves for both, its first pairs judge.

    Raises:
        UserError: the corpus is too small for both.
    """
    if course.dev != course.train:
        pairs = list(islice(open_pairs(course.train), course.pairs))
        dev = list(islice(open_pairs(course.dev), course.dev_pairs))
    else:
        found = list(islice(open_pairs(course.train), course.pairs + course.dev_pairs))
        known = {pair.source for pair in found[: course.dev_pairs]}
        dev = found[: course.dev_pairs]
        pairs = [pair for pair in found[course.dev_pairs :] if pair.source not in known]
    if not pairs or not dev:
        raise UserError(
            f"{course.train} holds too few pairs to learn from and be judged on "
            f"({course.dev_pairs} judge); give a larger file with --data"
        )
    return pairs, dev


class Judge:
    """Loss and greedy BLEU on sentences that nobody learns from."""

    def __init__(self, pairs: list[Pair], tokenizer: Tokenizer, folder: Path) -> None:
        self.tokenizer, self.references = tokenizer, [pair.target for pair in pairs]
        encode = tokenizer.encode_batch
        corpus = EncodedCorpus.build(pairs, encode, folder, LONGEST)
        plan = BatchPlan(2048, pad_id=tokenizer.pad_id, eos_id=tokenizer.eos_id)
        batches = TokenBatches(corpus, plan)
        self.batches = []
        while batches.epoch == 0:
            self.batches.append(next(batches))
        ids = encode([pair.source for pair in pairs])
        self.sources = [[*row[: LONGEST - 1], tokenizer.eos_id] for row in ids]
        # Who has not learnt yet how to end shall not write for ever.
        self.limit = ROOM + min(LONGEST, max(map(len, encode(self.references))))

    def __call__(self, model: Model) -> tuple[float, float]:
        """Nats a token, BLEU; the model goes on learning afterwards."""
        model.eval()
        with torch.inference_mode():
            losses = [loss_of(model, batch.source, batch.target, 0.0) for batch in self.batches]
            loss = sum(float(one.nll) for one in losses) / sum(one.tokens for one in losses)
        found = self.tokenizer.decode_batch(written(model, self.sources, self.limit))
        model.train()
        return loss, score(found, self.references).bleu.value


def written(model: Model, sources: list[list[int]], limit: int) -> list[list[int]]:
    """Greedy translations, with the search that belongs to the model."""
    if isinstance(model, Transformer):
        options = DecodingOptions(beam_size=1, max_length=limit)
        return [best[0].ids for best in decode(model, sources, options)]
    return translate(model, sources, limit)


def learn(learner: Learner, batches: TokenBatches, judge: Judge, course: Course) -> Iterator[Point]:
    """Learn until the time is over; a point at every look, the last at the end."""
    spent = 0.0
    for share in course.looks:
        while spent < share * course.seconds:
            began = time.perf_counter()
            batch = next(batches)
            learner.step(batch.source, batch.target, gone=spent / course.seconds)
            spent += time.perf_counter() - began
        yield Point(spent, learner.tokens, *judge(learner.model))
