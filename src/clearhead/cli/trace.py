"""`clearhead trace`: the shape of every tensor in a forward pass."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from clearhead.cli.options import ModelDirectory, Target
from clearhead.cli.streams import check_output, check_utf8, or_stdout
from clearhead.errors import UserError
from clearhead.files import atomic_write

if TYPE_CHECKING:
    from clearhead.explain.tracer import Trace
    from clearhead.models import TransformerConfig

LARGEST = 10**9
Kind = Literal["table", "html", "json", "md"]

Text = Annotated[
    str | None, typer.Argument(metavar="TEXT", help="A sentence that a trained model translates.")
]
Size = Annotated[
    str | None,
    typer.Option(help="Without TEXT: a preset, tiny, small, base or big.", show_default="base"),
]
DModel = Annotated[int | None, typer.Option(min=2, help="Width of the model.")]
Heads = Annotated[int | None, typer.Option(min=1, help="Number of heads.")]
DFf = Annotated[int | None, typer.Option(min=1, help="Width of the feed-forward blocks.")]
Layers = Annotated[
    int | None, typer.Option(min=1, help="Number of encoder layers and of decoder layers.")
]
Vocabulary = Annotated[
    int | None, typer.Option(min=3, help="Size of the joint vocabulary.", show_default="37000")
]
Batch = Annotated[
    int | None, typer.Option(min=1, max=LARGEST, help="Batch size.", show_default="2")
]
SrcLen = Annotated[
    int | None, typer.Option(min=1, max=LARGEST, help="Source length in tokens.", show_default="10")
]
TgtLen = Annotated[
    int | None, typer.Option(min=1, max=LARGEST, help="Target length in tokens.", show_default="7")
]
Format = Annotated[
    Kind | None,
    typer.Option(
        help="Terminal table, collapsible HTML page, JSON, or Markdown.", show_default="table"
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="Write to this file: .html, .json, .md or .txt.", callback=or_stdout
    ),
]

_BY_SUFFIX: dict[str, Kind] = {
    ".html": "html", ".htm": "html", ".json": "json", ".md": "md", ".txt": "table",
}  # fmt: skip


def trace(
    text: Text = None,
    target: Target = None,
    model: ModelDirectory = None,
    size: Size = None,
    d_model: DModel = None,
    heads: Heads = None,
    d_ff: DFf = None,
    layers: Layers = None,
    vocab: Vocabulary = None,
    batch: Batch = None,
    src_len: SrcLen = None,
    tgt_len: TgtLen = None,
    format: Format = None,
    output: Output = None,
) -> None:
    """Show the shape of every tensor: for TEXT in a model, or for a model of given sizes."""
    sizes = {"d_model": d_model, "h": heads, "d_ff": d_ff, "layers": layers, "vocab": vocab}
    chosen = {name: value for name, value in sizes.items() if value is not None}
    _check(text, target, model, size, bool(chosen), bool(batch or src_len or tgt_len))
    kind = _format(format, output)
    from clearhead.explain.tracer.examples import trace_sizes, trace_text
    from clearhead.translation.loading import find_model

    if text is not None:
        found, words = trace_text(find_model(model), text, target)
    else:
        config = _config(model, size, chosen, max(src_len or 0, tgt_len or 0))
        found, words = trace_sizes(config, batch or 2, src_len or 10, tgt_len or 7), ""
    _write(found, words, kind, output)


def _check(
    text: str | None, target: str | None, model: Path | None, size: str | None,
    sized: bool, long: bool,
) -> None:  # fmt: skip
    """Report contradictory arguments before torch is imported."""
    check_utf8(text, "TEXT")
    check_utf8(target, "--target")
    if text is not None and (size or sized or long):
        raise UserError(
            "TEXT is translated by a trained model, which has its own sizes; give TEXT or sizes"
        )
    if model is not None and (size or sized):
        raise UserError("--model has its own sizes; give --model, or --size, --d-model, --heads …")
    if target is not None and text is None:
        raise UserError("--target is the translation of TEXT; give TEXT as well")


def _format(format: Kind | None, output: Path | None) -> Kind:
    check_output(output, None)
    if format or output is None:
        return format or "table"
    if output.suffix.lower() not in _BY_SUFFIX:
        raise UserError(
            f"cannot tell the format of {output}; end its name in "
            f"{', '.join(_BY_SUFFIX)}, or give --format"
        )
    return _BY_SUFFIX[output.suffix.lower()]


def _config(
    model: Path | None, size: str | None, chosen: dict[str, int], longest: int
) -> "TransformerConfig":
    """The sizes of a model directory, or a preset with changes and positions for `longest`."""
    from dataclasses import replace

    from clearhead.models import TransformerConfig
    from clearhead.translation.loading import find_model

    if model is not None:
        return TransformerConfig.load(find_model(model) / "config.json")
    config = TransformerConfig.preset(size or "base", chosen.pop("vocab", 37_000))
    if layers := chosen.pop("layers", None):
        config = replace(config, encoder_layers=layers, decoder_layers=layers)
    longest = max(config.src_seq_len, longest)
    return replace(config, src_seq_len=longest, tgt_seq_len=longest, **chosen)  # type: ignore[arg-type]


def _write(found: "Trace", words: str, kind: Kind, output: Path | None) -> None:
    if kind == "table" and output is None:
        from clearhead.explain.tracer.text import show

        show(found.root, words)
        return
    if kind == "html":
        text = found.to_html(words)
    else:
        text = {"json": found.to_json, "md": found.to_markdown, "table": found.__str__}[kind]()
    if output is None:
        sys.stdout.write(text)
    else:
        atomic_write(output, text)
        print(f"{output}: {len(found.rows())} operations, {len(text.encode()) / 1e3:.0f} kB")
