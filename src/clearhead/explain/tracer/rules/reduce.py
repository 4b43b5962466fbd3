"""Mean, sum, maximum, …: an axis goes, or stays behind as a 1."""

from collections.abc import Sequence

from clearhead.explain.tracer.axis import Shape, one
from clearhead.explain.tracer.call import Call


def reduce(call: Call, wanted: Sequence[int]) -> Shape | None:
    """Without the axes that were reduced; with `keepdim` they are a 1 each."""
    axes = call.shape(0)
    gone = _reduced(call, len(axes))
    keep = call.kwargs.get("keepdim", len(wanted) == len(axes) > 0)
    kept = [
        one(f"{call.name} over {axis.label} at {call.place.short if call.place else '?'}")
        if i in gone
        else axis
        for i, axis in enumerate(axes)
        if keep or i not in gone
    ]
    return tuple(kept)


def _reduced(call: Call, rank: int) -> set[int]:
    position = 2 if call.name == "norm" else 1
    dim = call.argument(position, "dim", call.kwargs.get("axis"))
    if dim is None or isinstance(dim, bool):
        return set(range(rank))
    chosen = dim if isinstance(dim, list | tuple) else [dim]
    return {d % rank for d in chosen if isinstance(d, int) and rank}


RULES = dict.fromkeys(
    (
        "mean", "sum", "std", "var", "prod", "max", "min", "amax", "amin", "argmax", "argmin",
        "norm", "logsumexp", "any", "all", "median", "nanmean", "nansum", "count_nonzero",
        "std_mean", "var_mean", "vector_norm", "mode", "aminmax",
    ),
    reduce,
)  # fmt: skip
