"""Where the parameters sit and where the arithmetic goes, block by block."""

from collections.abc import Mapping

import torch
from matplotlib.figure import Figure
from torch.utils.flop_counter import FlopCounterMode

from clearhead.blocks import decoder_mask, padding_mask
from clearhead.explain.pictures.picture import Picture
from clearhead.explain.pictures.style import CATEGORIES, RULES, in_style
from clearhead.models import Transformer

# What a path belongs to, the first that fits.
PARTS = {
    "embeddings": ("src_embed", "tgt_embed"),
    "projection": ("projection_layer",),
    "self-attention": ("self_attention_block",),
    "cross-attention": ("cross_attention_block",),
    "feed-forward": ("feed_forward_block",),
}
OTHER = "norms"


def parameter_shares(model: Transformer) -> dict[str, int]:
    """Parameters of each part; a matrix that parts share is counted at the first."""
    shares = dict.fromkeys([*PARTS, OTHER], 0)
    for name, parameter in model.named_parameters():  # names a shared one once
        shares[_part_of(name)] += parameter.numel()
    return shares


def flop_shares(model: Transformer, src_len: int, tgt_len: int) -> dict[str, int]:
    """Floating-point operations of one forward pass, as torch counts its matrix products."""
    first = max(model.config.pad_id, model.config.bos_id, model.config.eos_id) + 1
    src, tgt = torch.full((1, src_len), first), torch.full((1, tgt_len), first)
    masks = padding_mask(src, model.config.pad_id), decoder_mask(tgt, model.config.pad_id)
    counter = FlopCounterMode(display=False)
    with torch.inference_mode(), counter:
        model(src, tgt, *masks)
    shares = dict.fromkeys([*PARTS, OTHER], 0)
    for path, operations in counter.get_flop_counts().items():
        part = _part_of(path)
        # A module's count holds its children's: count at the one that gives the part its name.
        if path.split(".")[-1] in PARTS.get(part, ()):
            shares[part] += sum(operations.values())
    return shares


@in_style()
def shares(model: Transformer, src_len: int = 20, tgt_len: int = 20) -> Picture:
    """Two bars of one length: the shares of the parameters, and of one pass's arithmetic."""
    rows = {
        "parameters": parameter_shares(model),
        f"operations, {src_len} → {tgt_len} tokens": flop_shares(model, src_len, tgt_len),
    }
    figure = Figure(figsize=(9.5, 2.9))
    axes = figure.subplots()
    for row, counts in enumerate(rows.values()):
        _bar(axes, row, counts)
    axes.set_yticks(range(len(rows)), list(rows))
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.set_xlabel("share, %")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.02), ncols=6, columnspacing=1.0, fontsize=9)
    return Picture(figure, RULES)


def _bar(axes: object, row: int, counts: Mapping[str, int]) -> None:
    from matplotlib.axes import Axes

    assert isinstance(axes, Axes)
    total, left = sum(counts.values()), 0.0
    for (part, count), colour in zip(counts.items(), CATEGORIES, strict=False):
        share = 100 * count / total
        label = part if row == 0 else None
        axes.barh(row, share, left=left, color=colour, edgecolor="white", label=label, height=0.62)
        if share >= 4:
            dark = colour in CATEGORIES[:3]
            ink = "white" if dark else "black"
            axes.text(left + share / 2, row, f"{share:.0f}", color=ink, ha="center", va="center")
        left += share


def _part_of(path: str) -> str:
    steps = path.split(".")
    found = [part for part, names in PARTS.items() if any(name in steps for name in names)]
    return found[0] if found else OTHER
