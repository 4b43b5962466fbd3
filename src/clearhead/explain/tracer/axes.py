"""An axis of a tensor: its size, its name if known, and where it was created.

Names follow axes, not sizes: an axis keeps its name through transposes, products and sums,
so an axis d_k of size 8 and an axis h of size 8 are never confused. An axis without a name is
a variable, as in type inference: where it meets a named axis in a sum or a product, the two are
unified.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

# The axis names of this project, and the names that other code uses for the same axes.
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
BROADCAST = "1"  # the name of an axis of size 1 that exists only to be broadcast


def canonical(word: str) -> str | None:
    """The project's name for a variable or attribute called `word`, or None."""
    return _CANONICAL.get(word.lower())


@dataclass(eq=False)
class Axis:
    """One axis. `name` is empty while it is unknown; `certain` means read, not inferred."""

    size: int
    name: str = ""
    origin: str = ""
    certain: bool = False
    parts: "tuple[Axis, ...]" = ()  # the axes that were merged into this one, in order
    _unified: "Axis | None" = field(default=None, repr=False)

    @property
    def resolved(self) -> "Axis":
        """The axis with which this one has been unified; itself if with none."""
        axis = self
        while axis._unified is not None:
            axis = axis._unified
        return axis

    @property
    def label(self) -> str:
        """The name, or the size in digits while the name is unknown."""
        return self.resolved.name or str(self.size)

    @property
    def broadcasts(self) -> bool:
        """True for a literal 1 that is to be broadcast; a batch of one sentence is a batch."""
        return self.resolved.name == BROADCAST

    @property
    def source(self) -> str:
        """A phrase that says where the axis was created."""
        return self.origin or self.resolved.origin or f"an axis of size {self.size}"


Shape = tuple[Axis, ...]


def broadcast_axis(origin: str = "") -> Axis:
    """An axis of size 1 that is to be broadcast."""
    return Axis(1, BROADCAST, origin, certain=True)


def unify(a: Axis, b: Axis) -> bool:
    """Treat two axes as one; False if they are known by different names."""
    a, b = a.resolved, b.resolved
    if a is b or a.name == b.name != "" or {a.name, b.name} == {"h·d_k", "d_model"}:
        return True
    unnamed = ("", BROADCAST)
    if a.name in unnamed or (b.certain and not a.certain and b.name not in unnamed):
        a, b = b, a
    if b.name in unnamed or not b.certain:
        b._unified = a
        return True
    return False


def names(shape: Sequence[Axis]) -> str:
    """The labels of a shape: `(batch, seq_len, d_model)`."""
    return f"({', '.join(axis.label for axis in shape)})"


def dimensions(shape: Sequence[Axis]) -> str:
    """The sizes of a shape: `(2, 10, 512)`."""
    return f"({', '.join(str(axis.size) for axis in shape)})"


def sizes(shape: Iterable[Axis]) -> tuple[int, ...]:
    """The sizes as integers."""
    return tuple(axis.size for axis in shape)


def numel(shape: Iterable[Axis]) -> int:
    """The number of elements of a tensor of this shape."""
    return math.prod(axis.size for axis in shape)


def merged_name(shape: Sequence[Axis]) -> str:
    """The name of several axes merged into one: `h·d_k`."""
    return "·".join(axis.label for axis in shape)


def unnamed_axes(shape: Iterable[int], origin: str = "") -> Shape:
    """Axes of these sizes without names."""
    return tuple(
        broadcast_axis(origin) if size == 1 else Axis(size, origin=origin) for size in shape
    )
