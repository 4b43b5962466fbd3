"""The length of the residual stream, layer by layer."""

import torch
from matplotlib.figure import Figure

from clearhead.decoding.search import in_eval_mode
from clearhead.explain.capture import capture
from clearhead.explain.look import Sentence
from clearhead.explain.pictures.picture import Picture
from clearhead.explain.pictures.style import BLUE, ORANGE, RULES, in_style, quiet_grid
from clearhead.models import Transformer


def norms_by_depth(model: Transformer, known: Sentence) -> dict[str, list[list[float]]]:
    """For "encoder" and "decoder": the stream's length at every token, after 0, 1, 2 … layers."""
    names = "src_pos", "encoder.layers.*", "tgt_pos", "decoder.layers.*"
    with in_eval_mode(model), torch.inference_mode(), capture(model, *names) as seen:
        src, tgt, src_mask, tgt_mask = known.tensors(model)
        model.decode(model.encode(src, src_mask), src_mask, tgt, tgt_mask)
    sides = {"encoder": ("src_pos", "encoder."), "decoder": ("tgt_pos", "decoder.")}
    return {
        side: [seen[path][0].norm(dim=-1).tolist() for path in seen if path.startswith(begins)]
        for side, begins in sides.items()
    }


@in_style()
def residual_norms(model: Transformer, known: Sentence) -> Picture:
    """Each dot a token; the line goes through the averages.

    In a pre-norm model every layer adds to the sum and nothing takes away, so it
    grows; a post-norm model brings it back to one length after every layer.
    """
    figure = Figure(figsize=(9, 4))
    panels = figure.subplots(1, 2, sharey=True)
    for axes, colour, (side, depths) in zip(
        panels, (BLUE, ORANGE), norms_by_depth(model, known).items(), strict=True
    ):
        for depth, norms in enumerate(depths):
            axes.plot([depth] * len(norms), norms, "o", color=colour, alpha=0.3, markersize=4)
        averages = [sum(norms) / len(norms) for norms in depths]
        axes.plot(range(len(depths)), averages, color=colour)
        axes.set_title(side.capitalize())
        axes.set_xlabel("after so many layers (0: embedding + position)")
        axes.set_xticks(range(len(depths)))
        axes.set_ylim(bottom=0)
        quiet_grid(axes)
    panels[0].set_ylabel("length of the residual stream")
    return Picture(figure, RULES)
