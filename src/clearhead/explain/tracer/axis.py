"""One axis of a tensor: its size, its name once somebody knows it, and where it comes from.

Names follow axes, not sizes: an axis keeps its name through transposes, products and
sums, so d_k = 8 and h = 8 are never confused. Where a name is not known yet the axis
is a variable; when it meets a known axis in a sum or a product, both become one.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

# The project's axis alphabet, and what the literature calls the same things.
SYNONYMS: dict[str, tuple[str, ...]] = {
    "batch": ("batch", "batch_size", "bs", "bsz", "b", "n_batch", "nbatches"),
    "src_len": ("src_len", "source_len", "key_len", "k_len", "s_len"),
    "tgt_len": ("tgt_len", "target_len", "query_len", "q_len", "t_len"),
    "seq_len": ("seq_len", "seq", "length", "sequence_length", "seq_length", "seqlen", "n_tokens"),
    "max_seq_len": (
        "max_seq_len", "max_len", "max_length", "max_position_embeddings", "block_size",
        "context_length", "src_seq_len", "tgt_seq_len", "max_seq_length",
    ),
    "d_model": (
        "d_model", "embed_dim", "embedding_dim", "emb_dim", "emb_size", "n_embd", "hidden_size",
        "model_dim", "dim", "embed_size",
    ),
    "h": ("h", "heads", "num_heads", "n_heads", "nhead", "n_head", "nheads", "num_attention_heads"),
    "d_k": (
        "d_k", "head_dim", "d_head", "dim_head", "head_size", "d_v", "depth",
        "attention_head_size",
    ),
    "d_ff": ("d_ff", "ff_dim", "dim_feedforward", "ffn_dim", "intermediate_size", "d_hidden"),
    "vocab": ("vocab", "vocab_size", "n_vocab", "src_vocab_size", "tgt_vocab_size"),
}  # fmt: skip
_CANONICAL = {word: name for name, words in SYNONYMS.items() for word in words}
LENGTHS = frozenset({"src_len", "tgt_len", "seq_len", "max_seq_len"})
STRETCHES = "1"  # the name of an axis that is there only to be broadcast


def canonical(word: str) -> str | None:
    """The alphabet's name for a variable or attribute of this name, if it has one."""
    return _CANONICAL.get(word.lower())


@dataclass(eq=False)
class Axis:
    """One axis; `name` is empty while nobody knows it, `sure` if it was read and not guessed."""

    size: int
    name: str = ""
    origin: str = ""
    sure: bool = False
    parts: "tuple[Axis, ...]" = ()  # what was laid end to end, and can be taken apart again
    _same: "Axis | None" = field(default=None, repr=False)

    @property
    def known(self) -> "Axis":
        """The axis that this one turned out to be."""
        axis = self
        while axis._same is not None:
            axis = axis._same
        return axis

    @property
    def label(self) -> str:
        """Its name, or its size in digits while it has none."""
        return self.known.name or str(self.size)

    @property
    def stretches(self) -> bool:
        """True for the literal 1 of a broadcast; a batch of one sentence is a batch."""
        return self.known.name == STRETCHES

    @property
    def story(self) -> str:
        """Where it comes from, in words."""
        known = self.known
        return self.origin or known.origin or f"an axis of {self.size}"


Shape = tuple[Axis, ...]


def one(origin: str = "") -> Axis:
    """An axis of size 1 that waits to be broadcast."""
    return Axis(1, STRETCHES, origin, sure=True)


def agree(a: Axis, b: Axis) -> bool:
    """Take two axes for one and the same; False if both are known by different names."""
    a, b = a.known, b.known
    if a is b or a.name == b.name != "" or {a.name, b.name} == {"h·d_k", "d_model"}:
        return True
    if a.name in ("", STRETCHES) or (b.sure and not a.sure and b.name not in ("", STRETCHES)):
        a, b = b, a
    if b.name in ("", STRETCHES) or not b.sure:
        b._same = a
        return True
    return False


def names(shape: Sequence[Axis]) -> str:
    """`(batch, seq_len, d_model)`; a single axis keeps its comma away: `(vocab)`."""
    return f"({', '.join(axis.label for axis in shape)})"


def numbers(shape: Sequence[Axis]) -> str:
    """`(2, 10, 512)`."""
    return f"({', '.join(str(axis.size) for axis in shape)})"


def sizes(shape: Iterable[Axis]) -> tuple[int, ...]:
    """The plain sizes."""
    return tuple(axis.size for axis in shape)


def numel(shape: Iterable[Axis]) -> int:
    """How many numbers a tensor of this shape holds."""
    return math.prod(axis.size for axis in shape)


def joined(shape: Sequence[Axis]) -> str:
    """The name of several axes laid end to end: `h·d_k`."""
    return "·".join(axis.label for axis in shape)


def anonymous(shape: Iterable[int], origin: str = "") -> Shape:
    """Axes of these sizes that nobody has named."""
    return tuple(one(origin) if size == 1 else Axis(size, origin=origin) for size in shape)
