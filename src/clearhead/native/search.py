"""Search in the native engine: sources in, hypotheses out."""

import ctypes
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain

import numpy as np
from numpy.typing import NDArray

from clearhead.errors import UserError
from clearhead.native.library import Job, Options, address
from clearhead.native.model import NativeModel
from clearhead.native.weights import ModelSizes

Integers = NDArray[np.int32]
MOST_THREADS = 4096
SLOTS = 64  # sentences that a thread decodes together
MOST_BEAMS = 1024
AT_ONCE = 8  # so few sentences are translated by the calling thread
MOST = 2**31 - 1  # what an int32 holds
MOST_BYTES = 1 << 30  # of keys and values in one thread


def concatenated(sources: Sequence[Sequence[int]]) -> tuple[Integers, NDArray[np.int64]]:
    """Ids one after another, and where each source starts, (sources + 1,)."""
    start = list(accumulate(map(len, sources), initial=0))
    ids = np.fromiter(chain.from_iterable(sources), np.int32, start[-1])
    return ids, np.array(start, np.int64)


def check_sources(sizes: ModelSizes, sources: Sequence[Sequence[int]]) -> None:
    """Refuse a source that is empty or too long, or has an id outside the vocabulary."""
    if not sizes.cross:
        raise UserError("this model has no encoder and reads no source; give a translator")
    for number, source in enumerate(sources):
        if not 1 <= len(source) <= sizes.src_len:
            raise UserError(
                f"source {number} has {len(source)} tokens, EOS included, but this model reads "
                f"1 to {sizes.src_len}; split the sentence"
            )
        least, most = min(source), max(source)
        if least < 0 or most >= sizes.src_vocab:
            raise UserError(
                f"source {number} has ids from {least} to {most}, but this model's vocabulary has "
                f"0 to {sizes.src_vocab - 1}; use the tokenizer that belongs to it"
            )


@dataclass(frozen=True)
class SearchOptions:
    """`Options` of search.c; `sentences` bounds how many a thread decodes together."""

    beam_size: int
    n_best: int
    no_repeat_ngram: int
    min_length: int
    early_stopping: bool
    scores: bool
    length_penalty: float
    sentences: int = SLOTS


@dataclass(frozen=True)
class Found:
    """The hypotheses of every sentence, in the order of the sources.

    Shapes: ids (sentences, n_best, room), length, score, normalized, finished (sentences, n_best);
    a length of -1 means that there is none.
    """

    ids: NDArray[np.int32]
    length: NDArray[np.int32]
    score: NDArray[np.float32]
    normalized: NDArray[np.float64]
    finished: NDArray[np.int32]


def search(
    model: NativeModel,
    sources: Sequence[Sequence[int]],
    limits: Sequence[int],
    options: SearchOptions,
    threads: int,
) -> Found:
    """Greedy search (beam_size 1) or beam search; the longest sentences begin.

    A limit is the most tokens of a translation, EOS included. A sentence's result does not depend
    on the others.

    Raises:
        UserError: ids or sizes out of range, weights that are not finite, or too little memory.
    """
    check_sources(model.sizes, sources)
    _check_limits(model, limits)
    order = sorted(range(len(sources)), key=lambda i: -len(sources[i]))
    ids, start = concatenated([sources[i] for i in order])
    limit = np.array([limits[i] for i in order], np.int32)
    room = max(limits, default=1)
    slots = min(options.sentences, SLOTS, -(-len(sources) // max(1, threads)))
    longest = max(map(len, sources), default=1)
    slots = _slots_that_fit(model, options.beam_size, room, longest, max(1, slots))
    # No text is longer than an int32.
    n, least = (min(value, MOST) for value in (options.no_repeat_ngram, options.min_length))
    settings = Options(
        options.beam_size, options.n_best, n, least, options.early_stopping,
        options.scores, slots, options.length_penalty,
    )  # fmt: skip
    found = _room(len(sources), options.n_best, room)
    job = Job(
        address(ids), address(start), address(limit), len(sources), room, 0, 0,
        *(address(column) for column in vars(found).values()),
    )  # fmt: skip
    _run(model, settings, job, min(threads, len(sources)))
    if len(sources) <= 1:
        return found
    back = np.argsort(np.array(order, np.int64))
    return Found(*(column[back] for column in vars(found).values()))


def _run(model: NativeModel, settings: Options, job: Job, threads: int) -> None:
    """ctypes releases the interpreter's lock while the library computes.

    The calling thread waits, so that Ctrl-C is noticed; a few sentences are not worth a thread.
    """
    work = partial(
        model.library.clearhead_search, model.handle, ctypes.byref(settings), ctypes.byref(job)
    )
    if threads <= 1 and job.sentences <= AT_ONCE:
        work()
        return
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(work) for _ in range(threads)]
        try:
            for future in futures:
                future.result()
        except BaseException:
            job.stop = 1  # the threads look at it after every step
            raise


def _check_limits(model: NativeModel, limits: Sequence[int]) -> None:
    most = model.sizes.tgt_len
    if any(not 1 <= limit <= most for limit in limits):
        raise UserError(
            f"a length limit of {max(limits) if max(limits) > most else min(limits)} tokens was "
            f"given, but this model writes 1 to {most}; give another max_length"
        )


def _room(sentences: int, n_best: int, room: int) -> Found:
    shape = sentences, n_best
    return Found(
        ids=np.zeros((*shape, room), np.int32),
        length=np.full(shape, -1, np.int32),
        score=np.zeros(shape, np.float32),
        normalized=np.zeros(shape, np.float64),
        finished=np.zeros(shape, np.int32),
    )


def unpadded(source: Sequence[int], pad_id: int) -> Sequence[int]:
    """The source up to its last token that is no padding; the engine in C has no masks.

    Raises:
        UserError: there is padding before another token, or nothing else.
    """
    end = len(source)
    while end and source[end - 1] == pad_id:
        end -= 1
    if not end or pad_id in source[:end]:
        raise UserError(
            f"a source has padding (id {pad_id}) before another token, or nothing else; "
            "put padding behind the tokens, or give --engine readable"
        )
    return source[:end]


def _slots_that_fit(model: NativeModel, beams: int, room: int, longest: int, slots: int) -> int:
    """So many that keys and values take at most MOST_BYTES; `longest`: tokens of a source.

    Raises:
        UserError: not even one sentence fits.
    """
    if beams > MOST_BEAMS:
        raise UserError(f"beam_size={beams} is more than {MOST_BEAMS}; 4 to 12 beams are usual")
    positions = beams * room + longest
    one = positions * 2 * model.width * model.sizes.decoder_layers * 4
    if one > MOST_BYTES:
        raise UserError(
            f"one sentence with beam_size={beams} and {room} tokens needs {one >> 20:,} MB for "
            f"keys and values, more than {MOST_BYTES >> 20:,}; "
            "give a smaller beam_size or max_length"
        )
    return min(slots, MOST_BYTES // one)


def default_threads() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_threads(threads: int) -> None:
    """Refuse a number of threads that is not between 1 and MOST_THREADS."""
    if type(threads) is not int or not 1 <= threads <= MOST_THREADS:
        raise UserError(f"threads={threads!r} is not a number of cores; give 1 to {MOST_THREADS}")


def threads_of(requested: int | None) -> int:
    """A number of cores; None: all that this process may use."""
    if requested is None:
        return default_threads()
    check_threads(requested)
    return requested
