"""The models, batches and sentences that benchmarks run on, built from command-line options."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from clearhead.data.batching import BatchPlan, TokenBatches
from clearhead.data.corpus import open_pairs
from clearhead.data.encoded import EncodedCorpus
from clearhead.data.pairs import Pair
from clearhead.errors import UserError
from clearhead.models import PRESETS, Transformer, TransformerConfig
from clearhead.text import Tokenizer
from clearhead.training.device_settings import choose_device
from clearhead.translation import Translator
from clearhead.translation.loading import find_model

Ids = list[int]
RACE = "race"
MAX_LENGTH = 100  # tokens of a source or target sentence, as in `clearhead train`
SMOOTHING = 0.1
LEARNING_RATE = 1e-4
# Windows does not remove a file that is open, as the corpus of a benchmark is until the end.
temporary_folder = partial(TemporaryDirectory, ignore_cleanup_errors=True)


@dataclass(frozen=True)
class TrainingTask:
    """A corpus to train on, in the batches of `plan`."""

    config: TransformerConfig
    corpus: EncodedCorpus
    plan: BatchPlan
    device: torch.device

    def batches(self) -> TokenBatches:
        """An endless iterator over epochs."""
        return TokenBatches(self.corpus, self.plan)

    def batch(self) -> tuple[Tensor, Tensor]:
        """Source and labels of the first batch, on the device."""
        first = next(self.batches())
        source, target = torch.from_numpy(first.source), torch.from_numpy(first.target)
        return source.to(self.device), target.to(self.device)

    def synchronize(self) -> None:
        """Wait for the kernels that were launched on a GPU."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    @property
    def longest(self) -> int:
        """Length of the longest sentence, EOS included: the length that fixed padding needs."""
        return 1 + max(int(side.max()) for side in self.corpus.lengths(0, len(self.corpus)))

    @property
    def target_tokens(self) -> int:
        """Target tokens of an epoch, EOS included."""
        return int(self.corpus.lengths(0, len(self.corpus))[1].sum()) + len(self.corpus)


@dataclass(frozen=True)
class BenchmarkModel:
    """A trained model to be benchmarked: its directory, loaded, and a folder for its exports."""

    directory: Path
    model: Transformer
    tokenizer: Tokenizer
    folder: Path
    threads: int


def make_config(size: str, vocabulary: int, seq_len: int) -> TransformerConfig:
    """A preset without tied embeddings; `race` is the preset `small` with 3 + 3 layers.

    Raises:
        UserError: there is no such size.
    """
    if size != RACE and size not in PRESETS:
        raise UserError(f"--size {size} is unknown; choose from {', '.join([RACE, *PRESETS])}")
    config = TransformerConfig.preset("small" if size == RACE else size, vocabulary)
    if size == RACE:
        config = replace(config, encoder_layers=3, decoder_layers=3)
    return replace(config, src_seq_len=seq_len, tgt_seq_len=seq_len, tie_embeddings=False)


def describe_config(c: TransformerConfig) -> str:
    """The hyperparameters in one line, for the head of a table."""
    return (
        f"d_model {c.d_model}, h {c.h}, d_ff {c.d_ff:,}, {c.encoder_layers} + "
        f"{c.decoder_layers} layers, vocabulary {c.tgt_vocab_size:,}, dropout {c.dropout:g}"
    )


def describe_task(task: TrainingTask, rows: int, length: int) -> str:
    """Hyperparameters, batch shape and device in one line."""
    return f"{describe_config(task.config)}, batch {rows} × {length}, {task.device.type}"


def base_names(spec: str | Path) -> str:
    """A corpus or model without its directories, so that a table shows no private paths."""
    corpora = [",".join(Path(one).name for one in c.split(",")) for c in str(spec).split(" + ")]
    return " + ".join(corpora)


def first_token(config: TransformerConfig) -> int:
    """The smallest id above all special tokens."""
    return max(config.pad_id, config.bos_id, config.eos_id) + 1


def random_ids(config: TransformerConfig, rows: int, length: int) -> np.ndarray:
    """Random source and target ids without special tokens: (2, rows, length)."""
    size = min(config.src_vocab_size, config.tgt_vocab_size)
    return np.random.default_rng(1).integers(first_token(config), size, (2, rows, length))


def full_batch(
    config: TransformerConfig, rows: int, length: int, folder: Path, device: torch.device
) -> TrainingTask:
    """A corpus of exactly one full batch, so that every step trains on the same tokens.

    Random source and target ids without padding: (rows, length) each, the last one EOS.
    """
    texts = [[" ".join(map(str, s)) for s in side] for side in random_ids(config, rows, length - 1)]
    pairs = [Pair(source, target) for source, target in zip(*texts, strict=True)]
    corpus = EncodedCorpus.build(pairs, parse_ids, folder, length)
    plan = BatchPlan(rows * length, window=rows, pad_id=config.pad_id, eos_id=config.eos_id)
    return TrainingTask(config, corpus, plan, device)


def parse_ids(texts: list[str]) -> list[Ids]:
    """The encoder of a corpus whose words are token ids."""
    return [[int(word) for word in text.split()] for text in texts]


def make_task(
    size: str, vocabulary: int, shape: tuple[int, int], folder: Path, device: str
) -> TrainingTask:
    """A full batch of `shape` (sentences, tokens) for an untrained model."""
    rows, length = shape
    config = make_config(size, vocabulary, length)
    return full_batch(config, rows, length, folder, choose_device(device))


@contextmanager
def open_model(model: Path | None) -> Iterator[BenchmarkModel]:
    """A trained model with a temporary directory for its exports."""
    directory = find_model(model)
    loaded = Translator.from_pretrained(directory, "cpu").model
    tokenizer, threads = Tokenizer.load(directory), torch.get_num_threads()
    with temporary_folder() as folder:
        yield BenchmarkModel(directory, loaded, tokenizer, Path(folder), threads)


def read_sources(model: BenchmarkModel, data: str, lines: int) -> list[Ids]:
    """The first sentences of a corpus as ids with EOS; sentences that are too long are skipped."""
    texts = [pair.source for pair in islice(open_pairs(data), lines)]
    limit, eos_id = model.model.config.src_seq_len, model.tokenizer.eos_id
    encoded = [[*ids, eos_id] for ids in model.tokenizer.encode_batch(texts)]
    if not (fitting := [ids for ids in encoded if len(ids) <= limit]):
        raise UserError(f"{data} holds no sentence of at most {limit} tokens; give another --data")
    return fitting


def read_epoch(
    tokenizer: Tokenizer, data: str, lines: int, batch_tokens: int, size: str, folder: Path
) -> TrainingTask:
    """The first pairs of a corpus, encoded, with the configuration of a model for them."""
    pairs = islice(open_pairs(data), lines)
    corpus = EncodedCorpus.build(pairs, tokenizer.encode_batch, folder, MAX_LENGTH)
    if not len(corpus):
        raise UserError(f"{data} holds no pair of at most {MAX_LENGTH} tokens; give another --data")
    config = make_config(size, tokenizer.vocab_size, MAX_LENGTH + 1)
    plan = BatchPlan(batch_tokens, pad_id=config.pad_id, eos_id=config.eos_id)
    return TrainingTask(config, corpus, plan, torch.device("cpu"))


def matrix_flop(model: nn.Module, *inputs: Tensor, training: bool = False) -> int:
    """Floating-point operations of the matrix products of a forward pass, as torch counts them.

    A multiply-add counts as two; `training` adds the backward pass. On the meta device nothing is
    computed.
    """
    with FlopCounterMode(display=False) as counter, torch.set_grad_enabled(training):
        output = model(*inputs)
        if training:
            output.sum().backward()
    return counter.get_total_flops()
