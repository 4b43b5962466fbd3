"""Random calls of the native engine, mostly valid, some with ids, sizes or options out of range.

    python -m tests.native.random_calls 1000000 --seed 1

Every call either gives a result that is checked or is refused with a UserError; anything else,
above all a read or write outside of an array, is for the sanitizers to find.
"""

import argparse
import contextlib
import ctypes
import gc
import itertools
import time
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from clearhead.errors import UserError
from clearhead.native.library import address
from clearhead.native.model import PROJECTION, NativeModel, kernel_names
from clearhead.native.search import SearchOptions, search
from clearhead.native.session import Session, forced_attention, forced_scores, hidden_states
from tests.native.random_models import KINDS, Parts, random_parts

CALLS_OF_A_MODEL = 400
WRONG = 0.03  # how many sizes and indices are out of range
Call = Callable[[], None]


class Caller:
    """One model and one session of it, with everything that may be called on them."""

    def __init__(self, rng: np.random.Generator, parts: Parts, model: NativeModel) -> None:
        self.rng, self.parts, self.model, self.sizes = rng, parts, model, model.sizes
        self.session: Session | None = None
        self.rows = self.slots = self.src_len = self.tgt_len = 0  # of the session

    def calls(self) -> list[tuple[float, Call]]:
        """What this model can do, and how often it should; a session is used, not only made."""
        always: list[tuple[float, Call]] = [
            (0.3, self.wrong_layer),
            (0.3, self.wrong_norm),
            (0.1, self.model.widen),
        ]
        if self.sizes.tgt_vocab:
            always += [(2, self.product), (2, self.new_session), (12, self.decode)]
            always += [(2, self.keep), (6, self.logits), (6, self.likeliest), (6, self.forced)]
        if self.sizes.cross:
            always += [(3, self.read_sources), (2, self.search), (0.5, self.attention)]
            always += [(0.5, self.scores)]
        if self.sizes.encoder_layers:
            always += [(3, self.encode)]
        return always

    def size(self, usual: int) -> int:
        """From 1 to the usual size; rarely 0, negative, a little or much too large."""
        if self.rng.random() < WRONG:
            odd = (0, -1, usual + 1, 2 * usual + 3, 2**31 - 1, -(2**31), 2**31, 2**32 + 1)
            return int(self.rng.choice(odd))
        return int(self.rng.integers(1, max(1, usual) + 1))

    def index(self, count: int) -> int:
        return self.size(count) - 1

    def indices(self, count: int, most: int) -> NDArray[np.int64]:
        """So many indices below `most`; rarely one of them is out of range."""
        values = self.rng.integers(0, max(1, most), size=count)
        if count and self.rng.random() < WRONG:
            values[self.rng.integers(count)] = self.index(most)
        return values

    def texts(self, count: int, longest: int) -> list[list[int]]:
        lengths = [self.length(longest) for _ in range(count)]
        return [self.indices(n, self.sizes.src_vocab).tolist() for n in lengths]

    def length(self, usual: int) -> int:
        """Of an array; few of them are long."""
        if usual > 20 and self.rng.random() < 0.8:
            usual = 20
        return min(max(0, self.size(usual)), 2 * usual + 3)

    def product(self) -> None:
        rows = self.length(20)
        x = self.rng.normal(size=(rows, self.model.d_model)).astype(np.float32)
        y = np.full((rows, self.model.vocabulary), np.nan, np.float32)
        layer, which = self.index(5), int(self.rng.choice([PROJECTION, PROJECTION, 99, -1]))
        arguments = self.model.handle, layer, which, address(x), rows, address(y)
        fits = which == PROJECTION and rows > 0
        try:
            self.model.library.clearhead_product(*arguments)
        except UserError:
            assert not fits
            raise
        assert fits and not np.isnan(y).any()

    def wrong_layer(self) -> None:
        """Weights can be set once, at an existing layer, in one shape."""
        which, layer = int(self.rng.integers(-3, 11)), int(self.rng.integers(-3, 6))
        out, in_ = self.length(200), self.length(200)
        half = bool(self.rng.integers(2))
        weight = np.zeros((out, in_), np.float16 if half else np.float32)
        addresses = address(weight), half, address(np.zeros(out, np.float32))
        arguments = self.model.handle, layer, which, *addresses, out, in_
        self.model.library.clearhead_set_linear(*arguments)
        assert not (self.sizes.cross or self.sizes.tgt_vocab)

    def wrong_norm(self) -> None:
        layer, which = int(self.rng.integers(-4, 8)), int(self.rng.integers(-2, 5))
        alpha = np.ones(self.length(80), np.float32)
        arguments = self.model.handle, layer, which, address(alpha), address(alpha), len(alpha)
        self.model.library.clearhead_set_norm(*arguments)

    def new_session(self) -> None:
        self.session, self.rows, self.slots = None, 0, 2 + self.size(3)
        self.src_len, self.tgt_len = (
            self.size(max(1, self.sizes.src_len)),
            self.size(self.sizes.tgt_len),
        )
        session = Session(self.model, 8 + self.size(30), self.slots, self.tgt_len, self.src_len)
        self.session = session
        if self.sizes.cross and self.rng.random() < 0.9:
            session.read_sources([[self.sizes.eos_id]] * self.slots)

    def need_session(self) -> Session:
        if self.session is None:
            self.new_session()
        assert self.session is not None
        return self.session

    def read_sources(self) -> None:
        session, self.rows = self.need_session(), 0
        count = self.length(min(self.slots, 3))
        session.read_sources(self.texts(count, min(self.src_len, self.sizes.src_len)))

    def decode(self) -> None:
        session, rows, self.rows = self.need_session(), self.length(9), 0
        tokens = self.indices(rows, self.sizes.tgt_vocab)
        if self.rng.random() < 0.1:
            positions = self.indices(self.length(9), self.sizes.tgt_len)
            slots = self.indices(rows, 3)
        else:  # one text after another from its first position on
            longest = min(self.tgt_len, 5)
            slots, positions = np.divmod(np.arange(rows), longest)
            slots %= self.slots
        session.decode(tokens, positions, slots)
        self.rows = rows

    def keep(self) -> None:
        session, rows = self.need_session(), np.unique(self.indices(self.rows, self.rows))
        session.keep(rows)
        self.rows = len(rows)

    def logits(self) -> None:
        logits = self.need_session().logits(self.length(self.rows))
        assert logits.shape[1] == self.sizes.tgt_vocab
        assert not np.isnan(logits).any()

    def likeliest(self) -> None:
        tokens = self.need_session().likeliest(self.length(self.rows))
        assert ((tokens >= 0) & (tokens < self.sizes.tgt_vocab)).all()

    def forced(self) -> None:
        wanted = self.indices(self.length(self.rows), self.sizes.tgt_vocab)
        assert (self.need_session().log_probabilities(wanted) < 1e-4).all()

    def encode(self) -> None:
        sizes, count = self.sizes, self.length(4)
        widths = [
            sizes.d_model if self.rng.random() < 0.98 else self.length(99) for _ in range(count)
        ]
        texts = [
            self.rng.normal(size=(self.length(sizes.src_len), width)).astype(np.float32)
            for width in widths
        ]
        hidden = hidden_states(self.model, texts)
        assert [h.shape for h in hidden] == [text.shape for text in texts]
        assert all(np.isfinite(h).all() for h in hidden)

    def forced_pair(self) -> tuple[list[int], list[int], list[int]]:
        (source,), length = self.texts(1, self.sizes.src_len), self.length(self.sizes.tgt_len)
        tokens, labels = (self.indices(length, self.sizes.tgt_vocab).tolist() for _ in range(2))
        return source, tokens, labels

    def attention(self) -> None:
        source, tokens, _ = self.forced_pair()
        weights = forced_attention(self.model, source, tokens)
        np.testing.assert_allclose(weights.sum(axis=3), 1.0, atol=1e-3)

    def scores(self) -> None:
        found = forced_scores(self.model, *self.forced_pair())
        assert (found <= 1e-4).all()

    def options(self) -> SearchOptions:
        beam_size = max(0, self.size(5))
        return SearchOptions(
            beam_size=beam_size,
            n_best=max(0, min(self.size(min(beam_size, 5)), 9)),
            no_repeat_ngram=self.index(5),
            min_length=self.index(9),
            early_stopping=bool(self.rng.integers(2)),
            scores=bool(self.rng.integers(2)),
            length_penalty=float(self.rng.choice([-2.0, 0.0, 1.0, 10.0])),
            sentences=max(0, self.size(4)),
        )

    def search(self) -> None:
        sources, options = self.texts(self.length(6), self.sizes.src_len), self.options()
        limits = [min(self.size(self.sizes.tgt_len), 2**31 - 1) for _ in sources]
        threads = int(self.rng.integers(1, 3)) if self.rng.random() < 0.2 else 1
        found = search(self.model, sources, limits, options, threads)
        forbidden = {self.sizes.pad_id, self.sizes.bos_id, self.sizes.eos_id}
        for sentence, limit in enumerate(limits):
            assert found.length[sentence, 0] >= 0
            kept = found.length[sentence] >= 0
            for rank, length in enumerate(found.length[sentence][kept].tolist()):
                assert length + found.finished[sentence, rank] <= limit
                ids = set(found.ids[sentence, rank, :length].tolist())
                assert not ids & forbidden and all(0 <= i < self.sizes.tgt_vocab for i in ids)
            order = zip(
                found.finished[sentence][kept], found.normalized[sentence][kept], strict=True
            )
            assert all(a >= b for a, b in itertools.pairwise(order))


def models(rng: np.random.Generator) -> Iterator[tuple[Parts, NativeModel]]:
    """Every kernel, every family, both precisions alternate."""
    cases = itertools.product(kernel_names(), KINDS, (False, True))
    for kernels, kind, int8 in itertools.cycle(cases):
        parts = random_parts(rng, kind)
        with contextlib.suppress(UserError):  # rotary positions and sizes that do not fit
            yield parts, parts.packed(int8, kernels)


def random_calls(count: int, seed: int) -> int:
    """Make so many calls; returns how many of them were refused."""
    rng, done, refused = np.random.default_rng(seed), 0, 0
    for parts, model in models(rng):
        weights, calls = zip(*Caller(rng, parts, model).calls(), strict=True)
        shares = np.array(weights) / sum(weights)
        chosen = rng.choice(len(calls), size=min(CALLS_OF_A_MODEL, count - done), p=shares)
        for number in chosen:
            try:
                calls[number]()
            except UserError:
                refused += 1
        done += len(chosen)
        if done >= count:
            break
    return refused


def allocated_bytes() -> int | None:
    """What the sanitizer's allocator has given out; None without a sanitizer."""
    try:
        function = ctypes.CDLL(None).__sanitizer_get_current_allocated_bytes
    except AttributeError:
        return None
    function.restype = ctypes.c_size_t
    gc.collect()
    return int(function())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("calls", type=int)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    begun = time.perf_counter()
    random_calls(min(arguments.calls, 20_000), arguments.seed)  # fills Python's and numpy's caches
    before = allocated_bytes()
    refused = random_calls(arguments.calls, arguments.seed + 1)
    after = allocated_bytes()
    seconds = time.perf_counter() - begun
    print(f"{arguments.calls:,} calls, {refused:,} of them refused, {seconds:.0f} s")
    if before is not None and after is not None:
        print(f"memory: {before:,} bytes before, {after:,} bytes after")
        assert after - before < 1 << 20, "the library keeps memory"


if __name__ == "__main__":
    main()
