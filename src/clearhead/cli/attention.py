"""`clearhead attention`: what the model looks at in a sentence, as a picture or a page."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from clearhead.cli.model_options import Model
from clearhead.errors import UserError

if TYPE_CHECKING:
    from clearhead.explain.attention_map import AttentionMap
    from clearhead.explain.look import Sentence
    from clearhead.explain.pictures import Picture
    from clearhead.translation import Translator

KINDS = ("html", "svg", "png", "pdf")

Text = Annotated[str, typer.Argument(metavar="TEXT", help="One sentence to look at.")]
Output = Annotated[
    Path,
    typer.Option(
        "--output", "-o", help="A page (.html) to explore, or a picture (.svg, .png, .pdf)."
    ),
]
Target = Annotated[
    str | None,
    typer.Option(help="Its translation.", show_default="what the model says"),
]
Kind = Annotated[
    Literal["encoder", "decoder", "cross"],
    typer.Option(help="Which attention a picture shows; a page shows all."),
]
Layer = Annotated[
    int | None,
    typer.Option(help="A layer, from 0, or from the end if negative: all its heads."),
]
HeadOf = Annotated[int | None, typer.Option(help="One head of --layer, from 0.")]
Alignment = Annotated[
    bool, typer.Option("--alignment", help="Average a layer's heads and draw what was looked at.")
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
    """Write what the model looks at while it translates TEXT: every layer, or the one you name."""
    _check(output, kind, layer, head, alignment)
    from clearhead.explain.attention_map import of_kind
    from clearhead.explain.look import look, sentence
    from clearhead.translation import Translator

    translator = Translator.from_pretrained(model)
    known = sentence(translator, text, target)
    maps = look(translator, known)
    if output.suffix.lower() == ".html":
        _page(translator, known, maps, output)
    else:
        _picture(of_kind(maps, kind), layer, head, alignment).save(output)
    print(f"{output}: {known.translation.strip()}")


def _check(output: Path, kind: str, layer: int | None, head: int | None, alignment: bool) -> None:
    """What can be said before torch is loaded."""
    if output.suffix.lower().removeprefix(".") not in KINDS:
        raise UserError(
            f"cannot write {output}: its ending is not one we know; "
            f"give a file that ends in .{', .'.join(KINDS)}"
        )
    if head is not None and layer is None:
        raise UserError(f"--head {head} is a head of which layer? give --layer, too")
    if alignment and kind != "cross":
        raise UserError(f"--alignment is of cross-attention, not of --kind {kind}; leave one out")


def _page(
    translator: "Translator", known: "Sentence", maps: "list[AttentionMap]", output: Path
) -> None:
    """The view of all attention, and of saliency to compare it with."""
    from clearhead.explain.saliency import as_map, saliency
    from clearhead.explain.view import AttentionView

    compared = as_map(saliency(translator.model, known), maps[-1])
    title = f"{known.text.strip()} → {known.translation.strip()}"
    AttentionView([*maps, compared], title, theme="auto").save(output)


def _picture(
    shown: "AttentionMap", layer: int | None, head: int | None, alignment: bool
) -> "Picture":
    from clearhead.explain import pictures

    if alignment:
        last_but_one = max(-2, -len(shown.layers))
        return pictures.alignment(shown, last_but_one if layer is None else layer, head)
    if layer is None:
        return pictures.all_layers(shown)
    return (
        pictures.all_heads(shown, layer) if head is None else pictures.one_head(shown, layer, head)
    )
