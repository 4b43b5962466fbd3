"""From the words of a command line to what is raced."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from clearhead.compare.engine import Ids, Subject
from clearhead.compare.epoch_race import Epoch
from clearhead.compare.hardware import Machine, describe_machine
from clearhead.compare.task import Task, full_batch
from clearhead.data.corpus import open_pairs
from clearhead.data.encoded import EncodedCorpus
from clearhead.errors import UserError
from clearhead.models import PRESETS, TransformerConfig
from clearhead.text import Tokenizer
from clearhead.training.precision import choose_device
from clearhead.translation import Translator
from clearhead.translation.location import find_model
from clearhead.translation.threads import use_threads

RACE = "race"
LONGEST = 100  # tokens a side of a training sentence, as `clearhead train` has it


def ready(threads: int | None) -> Machine:
    """Fix the threads, then look at the machine."""
    use_threads(threads)
    return describe_machine()


def make_config(size: str, vocabulary: int, seq_len: int) -> TransformerConfig:
    """The sizes of a preset, or of the race: 256 wide, 4 heads, 1,024, 3 + 3 layers; nothing tied.

    Raises:
        UserError: there is no such size.
    """
    if size != RACE and size not in PRESETS:
        raise UserError(f"--size {size} is unknown; choose from {', '.join([RACE, *PRESETS])}")
    config = TransformerConfig.preset("small" if size == RACE else size, vocabulary)
    if size == RACE:
        config = replace(config, encoder_layers=3, decoder_layers=3)
    return replace(config, src_seq_len=seq_len, tgt_seq_len=seq_len, tie_embeddings=False)


def in_words(c: TransformerConfig) -> str:
    """The sizes, for the head of a table."""
    return (
        f"d_model {c.d_model}, h {c.h}, d_ff {c.d_ff:,}, {c.encoder_layers} + "
        f"{c.decoder_layers} layers, vocabulary {c.tgt_vocab_size:,}, dropout {c.dropout:g}"
    )


def task_in_words(task: Task, rows: int, length: int) -> str:
    """The sizes of a model and of its one batch, and where it is trained."""
    return f"{in_words(task.config)}, batch {rows} × {length}, {task.device.type}"


def named(spec: str | Path) -> str:
    """A corpus or a model without the directories of this machine: tables travel."""
    return ",".join(Path(part).name for part in str(spec).split(","))


def make_task(
    size: str, vocabulary: int, shape: tuple[int, int], folder: Path, device: str
) -> Task:
    """A full batch of `shape` (sentences, tokens) for a fresh model."""
    rows, length = shape
    config = make_config(size, vocabulary, length)
    return full_batch(config, rows, length, folder, choose_device(device))


@contextmanager
def open_subject(model: Path | None) -> Iterator[Subject]:
    """A trained model, and a directory for its exports that goes away again."""
    directory = find_model(model)
    translator = Translator.from_pretrained(directory, "cpu")
    with TemporaryDirectory() as folder:
        yield Subject(
            directory,
            translator.model,
            Tokenizer.load(directory),
            Path(folder),
            torch.get_num_threads(),
        )


def read_sources(subject: Subject, data: str, lines: int) -> list[Ids]:
    """The first sentences of a corpus as ids with their end sign; those too long are left out."""
    texts = [pair.source for pair in islice(open_pairs(data), lines)]
    most = subject.model.config.src_seq_len
    eos_id = subject.tokenizer.eos_id
    found = [[*ids, eos_id] for ids in subject.tokenizer.encode_batch(texts)]
    if not (fitting := [ids for ids in found if len(ids) <= most]):
        raise UserError(f"{data} holds no sentence of at most {most} tokens; give another --data")
    return fitting


def read_epoch(
    tokenizer: Tokenizer, data: str, lines: int, batch_tokens: int, size: str, folder: Path
) -> Epoch:
    """The first pairs of a corpus, encoded, and a fresh model for them."""
    pairs = islice(open_pairs(data), lines)
    corpus = EncodedCorpus.build(pairs, tokenizer.encode_batch, folder, LONGEST)
    if not len(corpus):
        raise UserError(f"{data} holds no pair of at most {LONGEST} tokens; give another --data")
    config = make_config(size, tokenizer.vocab_size, LONGEST + 1)
    return Epoch(config, corpus, batch_tokens)
