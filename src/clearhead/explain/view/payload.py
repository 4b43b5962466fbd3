"""What a page is told: the words, the packed weights, and what to be careful about."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from clearhead.errors import UserError
from clearhead.explain.attention_map import AttentionMap
from clearhead.explain.view.packing import error_bound, pack

MOST_WEIGHTS = 3 * 6 * 8 * 512 * 512
CAUTION: dict[str, Any] = {
    "text": "A large weight says where the model looked, not why it answered as it did: other "
    "weights can give the same answer, and what is looked at may not matter. Whether and when "
    "attention explains anything is disputed; read both sides:",
    "papers": [
        {
            "title": "Jain and Wallace (2019), Attention is not Explanation",
            "url": "https://aclanthology.org/N19-1357/",
        },
        {
            "title": "Wiegreffe and Pinter (2019), Attention is not not Explanation",
            "url": "https://aclanthology.org/D19-1002/",
        },
    ],
}


Theme = Literal["light", "dark", "auto"]


@dataclass(frozen=True)
class Start:
    """What is seen first; `map` and `layer` are places in the lists, as are `heads` (None: all)."""

    view: Literal["flow", "map", "model"] = "flow"
    map: int = 0
    layer: int = 0
    heads: list[int] | None = field(default=None)


def payload(maps: Sequence[AttentionMap], title: str, start: Start, theme: Theme) -> dict[str, Any]:
    """A dictionary of plain values, ready for JSON.

    Raises:
        UserError: nothing to show, or more than a browser can hold.
    """
    _check(maps)
    packed = pack(maps)
    off = error_bound(packed.levels)
    described = [
        {
            "kind": one.kind,
            "title": one.title,
            "queries": one.queries,
            "keys": one.keys,
            "layers": one.layers,
            "heads": one.heads,
            "blobs": blobs,
        }
        for one, blobs in zip(maps, packed.maps, strict=True)
    ]
    return {
        "title": title,
        "theme": theme,
        "start": asdict(start),
        "levels": packed.levels,
        "exactness": f"Weights are drawn to within {100 * off:.1g} % of the largest of their row.",
        "caution": CAUTION,
        "maps": described,
    }


def _check(maps: Sequence[AttentionMap]) -> None:
    if not maps:
        raise UserError("there is no attention to show; give at least one map")
    for one in maps:
        if not one.weights.size:
            raise UserError(f"{one.title.lower()} has no words; give a sentence of at least one")
    count = sum(one.weights.size for one in maps)
    if count > MOST_WEIGHTS:
        raise UserError(
            f"a page holds up to {MOST_WEIGHTS:,} weights and these are {count:,}; "
            "give fewer layers or heads (include_layers, include_heads), or a shorter sentence"
        )
