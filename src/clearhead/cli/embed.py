"""`clearhead embed`: lines or FASTA records in, a vector for each out."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from clearhead.cli.machine_options import Device, Quiet, Threads
from clearhead.cli.model_options import Truncate
from clearhead.cli.output import check_output
from clearhead.cli.texts import check_file, named_texts
from clearhead.cli.warnings_on_stderr import warnings_on_stderr
from clearhead.errors import UserError
from clearhead.files import atomic_save, is_special

Source = Annotated[
    str, typer.Argument(metavar="[FILE]", help="Lines or FASTA, also .gz; - is standard input.")
]
Model = Annotated[str, typer.Option(help="Directory of a BERT or ESM-2, or its name on the hub.")]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help=".npz or .tsv, whole or not at all.", show_default="TSV to stdout"
    ),
]
Format = Annotated[
    Literal["auto", "text", "fasta"], typer.Option(help="What FILE is; auto looks at it.")
]
Pooling = Annotated[
    Literal["auto", "mean", "inner", "cls", "none"],
    typer.Option(
        help="Of a text's tokens: their mean, the mean without the signs at both ends, the first, "
        "or all; auto does as the directory says, else mean."
    ),
]
Normalise = Annotated[
    bool | None,
    typer.Option(help="Bring every vector to length 1.", show_default="as the directory says"),
]
Precision = Annotated[
    Literal["auto", "float32", "bfloat16", "int8"],
    typer.Option(help="Number format of the products; auto is bfloat16 where that is fast."),
]


def embed(
    model: Model,
    file: Source = "-",
    output: Output = None,
    format: Format = "auto",
    pooling: Pooling = "auto",
    normalise: Normalise = None,
    truncate: Truncate = False,
    device: Device = "auto",
    threads: Threads = None,
    precision: Precision = "float32",
    quiet: Quiet = False,
) -> None:
    """A vector for every line of text or FASTA record, as npz or TSV, in the order of the input."""
    _check(file, output)
    from clearhead.pipelines.embedding import Embedder
    from clearhead.pipelines.embedding_files import writer_for

    with warnings_on_stderr(quiet):
        chosen = None if pooling == "auto" else pooling
        embedder = Embedder.from_pretrained(
            model, device, threads, precision, chosen, normalise, truncate
        )
        pooled = embedder.settings.pooling != "none"
        write = writer_for(output, pooled, embedder.reader.tokenizer.piece)
        found = embedder.stream(named_texts(file, format))
        if output is None:
            write(found, sys.stdout.buffer, embedder.width)
            return

        def fill(temporary: Path) -> None:
            with temporary.open("wb") as sink:
                write(found, sink, embedder.width)

        atomic_save(output, fill)


def _check(file: str, output: Path | None) -> None:
    """What can be said before torch is loaded."""
    check_file(file)
    if output is None:
        return
    check_output(output)
    if output.suffix not in (".npz", ".tsv") and not is_special(output):
        raise UserError(
            f"cannot write {output}: {output.suffix or 'no ending'} is unknown; give a name that "
            "ends with .npz or .tsv"
        )
