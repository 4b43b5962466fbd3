"""A packed model one call at a time: sampling, forced scoring, attention weights, hidden states."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from clearhead.errors import UserError
from clearhead.native.library import address
from clearhead.native.model import NativeModel
from clearhead.native.search import Integers, check_sources, concatenated
from clearhead.native.weights import Floats


class Session:
    """Texts being written, one in each of `slots`, with room for `rows` tokens in a call.

    The keys and values of what a slot has read are kept; see `decode`.

    Raises:
        UserError: more positions than the model has, or too little memory.
    """

    def __init__(
        self, model: NativeModel, rows: int, slots: int, tgt_len: int, src_len: int = 1
    ) -> None:
        self.model = model
        self.source_lengths: dict[int, int] = {}  # by slot
        sizes = (rows, slots, src_len, tgt_len)
        fits = max(sizes) < 2**31  # ctypes would drop bits
        self.handle = fits and model.library.clearhead_session_new(model.handle, *sizes)
        if not self.handle:
            raise UserError(
                f"no room for {slots} texts of {tgt_len} tokens: this model has "
                f"{model.sizes.tgt_len} positions; give fewer or shorter texts"
            )

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self.model.library.clearhead_session_free(self.handle)
            self.handle = None

    def read_sources(self, sources: Sequence[Sequence[int]]) -> None:
        """The encoder reads source i for slot i."""
        check_sources(self.model.sizes, sources)
        ids, start = concatenated(sources)
        self.model.library.clearhead_session_source(
            self.handle, address(ids), address(start), len(sources)
        )
        self.source_lengths = {slot: len(source) for slot, source in enumerate(sources)}

    def decode(
        self, tokens: Integers, positions: Integers, slots: Integers, capture: Floats | None = None
    ) -> None:
        """The decoder reads each token at its position of its slot.

        Shapes: tokens, positions, slots (rows,). What lies before a position in its slot was read
        in an earlier call or comes before it in this one. capture (layers, h, rows, source tokens)
        receives the cross-attention weights where all rows are of one slot.
        """
        arrays = [int32(x) for x in (tokens, positions, slots)]
        if len({len(x) for x in arrays}) != 1:
            raise UserError(
                f"{len(tokens)} tokens, {len(positions)} positions and {len(slots)} slots were "
                "given; give one position and one slot for each token"
            )
        if capture is not None:
            self._check_capture(capture, arrays[2])
        self.model.library.clearhead_session_decode(
            self.handle, len(tokens), *map(address, arrays), address(capture)
        )

    def _check_capture(self, capture: Floats, slots: Integers) -> None:
        sizes, slot = self.model.sizes, int(slots[0]) if len(slots) else 0
        source = self.source_lengths.get(slot, 0)
        wanted = (sizes.decoder_layers, sizes.h, len(slots), source)
        if (slots != slot).any() or capture.shape != wanted or capture.dtype != np.float32:
            raise UserError(
                f"cross-attention weights of one slot have shape {wanted} in float32; "
                f"{capture.shape} in {capture.dtype} was given for {len(set(slots))} slots"
            )

    def keep(self, rows: Integers) -> None:
        """Only these rows of the last call, ascending, are projected."""
        rows = int32(rows)
        self.model.library.clearhead_session_keep(self.handle, address(rows), len(rows))

    def logits(self, rows: int) -> Floats:
        """(rows, vocabulary) scores before the softmax, of the first rows of the last call."""
        logits = np.empty((rows, self.model.vocabulary), np.float32)
        self.model.library.clearhead_session_logits(self.handle, rows, address(logits))
        return logits[:, : self.model.sizes.tgt_vocab]

    def likeliest(self, rows: int) -> Integers:
        """(rows,) the token with the largest logit, neither padding nor BOS (unless it is EOS)."""
        tokens = np.empty(rows, np.int32)
        self.model.library.clearhead_session_best(self.handle, rows, address(tokens), None, None)
        return tokens

    def log_probabilities(self, wanted: Integers) -> Floats:
        """(rows,) of these tokens, one for each of the first rows of the last call."""
        wanted = int32(wanted)
        tokens, scores = np.empty(len(wanted), np.int32), np.empty(len(wanted), np.float32)
        self.model.library.clearhead_session_best(
            self.handle, len(wanted), *map(address, (tokens, wanted, scores))
        )
        return scores


def forced_attention(
    model: NativeModel, source: Sequence[int], decoder_input: Sequence[int]
) -> Floats:
    """Cross-attention while the decoder reads `decoder_input`, all positions at once.

    Shape: -> (layers, h, decoder tokens, source tokens), each row sums to 1.
    """
    rows, sizes = len(decoder_input), model.sizes
    session = Session(model, max(rows, len(source)), 1, rows, len(source))
    session.read_sources([source])
    weights = np.zeros((sizes.decoder_layers, sizes.h, rows, len(source)), np.float32)
    _read_all(session, decoder_input, weights)
    return weights


def forced_scores(
    model: NativeModel, source: Sequence[int], decoder_input: Sequence[int], labels: Sequence[int]
) -> Floats:
    """(tokens,) the log-probability of each label after the source and the tokens before it."""
    rows = len(decoder_input)
    session = Session(model, max(rows, len(source)), 1, rows, max(1, len(source)))
    if model.sizes.cross:
        session.read_sources([source])
    _read_all(session, decoder_input)
    return session.log_probabilities(int32(labels))


def _read_all(session: Session, tokens: Sequence[int], capture: Floats | None = None) -> None:
    """The decoder reads a text of slot 0 from its first position on."""
    positions = np.arange(len(tokens), dtype=np.int32)
    session.decode(int32(tokens), positions, np.zeros_like(positions), capture)


def hidden_states(model: NativeModel, embedded: Sequence[Floats]) -> list[Floats]:
    """Embeddings of texts, (tokens, d_model) each -> hidden states of the encoder, as many."""
    for text in embedded:
        if text.ndim != 2 or text.shape[1] != model.sizes.d_model:
            raise UserError(
                f"embeddings of shape {text.shape} were given, but this model reads "
                f"(tokens, {model.sizes.d_model}); use its own embeddings"
            )
    if not embedded:
        return []
    lengths = [len(x) for x in embedded]
    start = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=start[1:])
    x = np.zeros((int(start[-1]), model.d_model), np.float32)
    for first, text in zip(start, embedded, strict=False):
        x[first : first + len(text), : model.sizes.d_model] = text
    model.library.clearhead_encode(model.handle, address(x), address(start), len(lengths))
    return [x[a:b, : model.sizes.d_model] for a, b in pairwise(start)]


def int32(values: Sequence[int] | NDArray[np.integer]) -> Integers:
    """The same integers for the library; one that an int32 cannot hold becomes -1, no valid id."""
    if isinstance(values, np.ndarray) and values.dtype == np.int32:
        return np.ascontiguousarray(values)
    return np.array([i if 0 <= i < 2**31 else -1 for i in values], np.int32)
