"""`clearhead embed`: one vector for each line of text or FASTA record."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from clearhead.cli import streams
from clearhead.cli.options import Device, Engine, Precision, Quiet, Threads, Truncate

Source = Annotated[
    str, typer.Argument(metavar="FILE", help="Lines or FASTA, also .gz; - is standard input.")
]
Model = Annotated[str, typer.Option(help="Directory of a BERT or ESM-2, or its name on the hub.")]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="A .npz or .tsv file, written completely or not at all.",
        show_default="TSV to stdout", callback=streams.or_stdout,
    ),
]  # fmt: skip
Format = Annotated[
    Literal["auto", "text", "fasta"], typer.Option(help="What FILE is; auto looks at it.")
]
Pooling = Annotated[
    Literal["auto", "mean", "inner", "cls", "none"],
    typer.Option(
        help="Vector of a text: the mean of its tokens; inner: without special tokens; cls: the "
        "first token; none: every token; auto: the model's setting, or mean."
    ),
]
Normalize = Annotated[
    bool | None,
    typer.Option(
        "--normalize/--no-normalize",
        "--normalise/--no-normalise",
        help="Scale every vector to length 1.",
        show_default="the model's setting with --pooling auto, else off",
    ),
]


def embed(
    model: Model,
    file: Source = "-",
    output: Output = None,
    format: Format = "auto",
    pooling: Pooling = "auto",
    normalize: Normalize = None,
    truncate: Truncate = False,
    device: Device = "auto",
    threads: Threads = None,
    precision: Precision = "float32",
    engine: Engine = "auto",
    quiet: Quiet = False,
) -> None:
    """Compute a vector for each line of text or FASTA record, as npz or TSV, in order."""
    streams.check_file(file)
    streams.check_output(output, file, ".npz", ".tsv")
    from clearhead.pipelines.embedding import Embedder
    from clearhead.pipelines.embedding_files import writer_for

    with streams.warnings_on_stderr(quiet):
        chosen = None if pooling == "auto" else pooling
        embedder = Embedder.from_pretrained(
            model, device, threads, precision, chosen, normalize, truncate, engine
        )
        pooled = embedder.settings.pooling != "none"
        write = writer_for(output, pooled, embedder.reader.tokenizer.piece)
        found = embedder.stream(streams.named_texts(file, format))
        streams.save(output, lambda sink: write(found, sink, embedder.width))
