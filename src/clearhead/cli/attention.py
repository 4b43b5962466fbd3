"""`clearhead attention`: the attention weights for one sentence, as a page or a plot."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from clearhead.cli.options import Model, Target
from clearhead.cli.streams import check_utf8, warnings_on_stderr
from clearhead.errors import UserError

if TYPE_CHECKING:
    from clearhead.explain.attention import AttentionMap, SentencePair
    from clearhead.explain.plots import Plot
    from clearhead.translation import Translator

KINDS = ("html", "svg", "png", "pdf")

Text = Annotated[str, typer.Argument(metavar="TEXT", help="One sentence.")]
Output = Annotated[
    Path,
    typer.Option(
        "--output", "-o", help="An interactive page (.html) or a plot (.svg, .png, .pdf)."
    ),
]
Kind = Annotated[
    Literal["encoder", "decoder", "cross"],
    typer.Option(help="The attention that a plot shows; a page shows all."),
]
Layer = Annotated[
    int | None,
    typer.Option(help="A plot of all heads of one layer, from 0; negative: from the end."),
]
HeadOf = Annotated[int | None, typer.Option(help="One head of --layer, counted from 0.")]
Alignment = Annotated[
    bool,
    typer.Option(
        "--alignment", help="A plot of the mean of a layer's heads, the largest weights marked."
    ),
]


def attention(
    text: Text,
    output: Output,
    target: Target = None,
    model: Model = None,
    kind: Kind = "cross",
    layer: Layer = None,
    head: HeadOf = None,
    alignment: Alignment = False,
) -> None:
    """Plot the attention weights with which the model translates TEXT, of all layers or one."""
    check_utf8(text, "TEXT")
    check_utf8(target, "--target")
    _check(output, kind, layer, head, alignment)
    from clearhead.explain.attention import attention_maps, of_kind, sentence_pair
    from clearhead.translation import Translator

    translator = Translator.from_pretrained(model)
    pair = sentence_pair(translator, text, target)
    maps = attention_maps(translator, pair)
    with warnings_on_stderr(quiet=False):
        if output.suffix.lower() == ".html":
            _page(translator, pair, maps, output)
        else:
            _plot(of_kind(maps, kind), layer, head, alignment).save(output)
    print(f"{output}: {pair.translation.strip()}")


def _check(output: Path, kind: str, layer: int | None, head: int | None, alignment: bool) -> None:
    """Report contradictory arguments before torch is imported."""
    if output.suffix.lower().removeprefix(".") not in KINDS:
        raise UserError(
            f"cannot write {output}: unknown file extension; give a name with .{', .'.join(KINDS)}"
        )
    given = f"--layer {layer}" if layer is not None else f"--kind {kind}" if kind != "cross" else ""
    if output.suffix.lower() == ".html" and (given or alignment):
        given = "--alignment" if alignment else given
        raise UserError(f"{given} applies to plots; write a .svg, .png or .pdf, or omit it")
    if head is not None and layer is None:
        raise UserError(f"--head {head} needs --layer; give both")
    if alignment and kind != "cross":
        raise UserError(f"--alignment applies to cross-attention, not to --kind {kind}; omit one")


def _page(
    translator: "Translator", pair: "SentencePair", maps: "list[AttentionMap]", output: Path
) -> None:
    """A page with all attention maps, and saliency for comparison."""
    from clearhead.explain.attention import next_tokens
    from clearhead.explain.interpretability import as_map, saliency
    from clearhead.explain.view import AttentionView

    compared = as_map(saliency(translator.model, pair), maps[-1])
    title = f"{pair.text.strip()} → {pair.translation.strip()}"
    predictions = next_tokens(translator, pair)
    AttentionView([*maps, compared], title, None, "auto", predictions).save(output)


def _plot(shown: "AttentionMap", layer: int | None, head: int | None, alignment: bool) -> "Plot":
    from clearhead.explain import plots

    if alignment:
        return plots.alignment(shown, shown.alignment_layer if layer is None else layer, head)
    if layer is None:
        return plots.all_layers(shown)
    return plots.all_heads(shown, layer) if head is None else plots.one_head(shown, layer, head)
