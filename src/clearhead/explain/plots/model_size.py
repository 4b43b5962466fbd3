"""The shares of the blocks in the parameters of a model and in its FLOPs."""

from collections.abc import Mapping

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch.utils.flop_counter import FlopCounterMode

from clearhead.blocks import decoder_mask, padding_mask
from clearhead.explain.plots.plot import Plot
from clearhead.models import Transformer
from clearhead.plot_style import CATEGORIES, in_style

# A path belongs to the first part that has one of its components.
PARTS = {
    "embeddings": ("src_embed", "tgt_embed"),
    "projection": ("projection_layer",),
    "self-attention": ("self_attention_block",),
    "cross-attention": ("cross_attention_block",),
    "feed-forward": ("feed_forward_block",),
}
OTHER = "norms"


def parameter_shares(model: Transformer) -> dict[str, int]:
    """The number of parameters of each part; a tied matrix is counted at its first part."""
    shares = dict.fromkeys([*PARTS, OTHER], 0)
    for name, parameter in model.named_parameters():  # yields a tied one once
        shares[_part_of(name)] += parameter.numel()
    return shares


def flop_shares(model: Transformer, src_len: int, tgt_len: int) -> dict[str, int]:
    """The FLOPs of one forward pass in each part, as torch counts those of matrix products."""
    first = max(model.config.pad_id, model.config.bos_id, model.config.eos_id) + 1
    src, tgt = torch.full((1, src_len), first), torch.full((1, tgt_len), first)
    masks = padding_mask(src, model.config.pad_id), decoder_mask(tgt, model.config.pad_id)
    counter = FlopCounterMode(display=False)
    with torch.inference_mode(), counter:
        model(src, tgt, *masks)
    shares = dict.fromkeys([*PARTS, OTHER], 0)
    for path, operations in counter.get_flop_counts().items():
        part = _part_of(path)
        # A module's count includes its children: count at the module that names the part.
        if path.split(".")[-1] in PARTS.get(part, ()):
            shares[part] += sum(operations.values())
    return shares


@in_style()
def shares(model: Transformer, src_len: int = 20, tgt_len: int = 20) -> Plot:
    """Two stacked bars: the shares in the parameters, and in the FLOPs of one forward pass."""
    rows = {
        "parameters": parameter_shares(model),
        f"FLOPs, {src_len} → {tgt_len} tokens": flop_shares(model, src_len, tgt_len),
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
    return Plot(figure)


def _bar(axes: Axes, row: int, counts: Mapping[str, int]) -> None:
    total, left = sum(counts.values()), 0.0
    for (part, count), colour in zip(counts.items(), CATEGORIES, strict=False):
        share = 100 * count / total
        label = part if row == 0 else None
        axes.barh(row, share, left=left, color=colour, edgecolor="white", label=label, height=0.62)
        if share >= 4:
            ink = "white" if colour in CATEGORIES[:4] else "black"
            axes.text(left + share / 2, row, f"{share:.0f}", color=ink, ha="center", va="center")
        left += share


def _part_of(path: str) -> str:
    components = path.split(".")
    found = [part for part, names in PARTS.items() if any(name in components for name in names)]
    return found[0] if found else OTHER
