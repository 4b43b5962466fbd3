"""`clearhead compare` and `verify`: differences from other libraries and models, measured now."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from clearhead.cli.options import Threads
from clearhead.cli.streams import progress
from clearhead.errors import UserError

app = typer.Typer(
    help="Comparisons with Keras, RNNs and other widths; every value is measured in this run.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Format = Annotated[Literal["text", "md", "json"], typer.Option(help="Output format.")]
Output = Annotated[
    Path, typer.Option("--output", "-o", help="Directory for report, values and plots.")
]
Quick = Annotated[
    bool, typer.Option("--quick", help="A quick run that checks the pipeline, not the result.")
]
Data = Annotated[
    str | None,
    typer.Option(metavar="SPEC", help="An additional corpus to translate, such as Tatoeba's."),
]
MISSED = 1


@app.command()
def keras(format: Format = "text") -> None:
    """Multi-head attention in Keras, torch.nn and clearhead: equalities and differences."""
    from clearhead.compare.keras_attention.report import compare_keras, show

    report = compare_keras()
    print(show(report, format), end="")
    if not all(result.met for result in report.results):
        raise typer.Exit(1)


@app.command()
def rnn(output: Output, data: Data = None, quick: Quick = False, threads: Threads = None) -> None:
    """LSTM and GRU, with and without attention, against a Transformer of the same size.

    Writes report.md, numbers.json and plots: time and memory by sentence length, gradients and
    recall by distance, BLEU by training time, cost of decoding. About ten minutes.
    """
    from clearhead.compare.rnn.study import default_study, quick_study, run, write
    from clearhead.compare.rnn.training import read_pairs
    from clearhead.compare.timing import prepare_machine

    _check_directory(output)
    study = (quick_study if quick else default_study)(data)
    if data:
        read_pairs(study.translation[-1])  # report errors now, not in ten minutes
    write(run(study, prepare_machine(threads), progress), output)
    print(output / "report.md")


@app.command("d-model")
def width(output: Output, quick: Quick = False, threads: Threads = None) -> None:
    """Parameters, FLOP, memory, speed and BLEU from d_model 128 to 768.

    Also DNABERT (768) and Geneformer (512 and 256). About seven minutes.
    """
    from clearhead.compare.timing import prepare_machine
    from clearhead.compare.width_report import write
    from clearhead.compare.width_study import default_study, quick_study, run

    _check_directory(output)
    study = quick_study() if quick else default_study()
    write(run(study, prepare_machine(threads), progress), output)
    print(output / "report.md")


def _check_directory(output: Path) -> None:
    from clearhead.evaluation.examples import check_writable

    if output.exists() and not output.is_dir():
        raise UserError(f"{output} is a file; give a directory with -o")
    check_writable(output / "report.md")


Peer = Annotated[
    Literal[
        "torch", "fast", "native", "keras", "transformers", "minilm", "ctranslate2", "onnx", "all"
    ],
    typer.Argument(help="Library to compare with; fast: clearhead's fast leaf operations."),
]


def verify(peer: Peer = "all", format: Format = "text", threads: Threads = None) -> None:
    """Compare clearhead's results with other libraries: largest difference, and its bound.

    Exit code 1 if a bound is exceeded.
    """
    from clearhead.compare.proofs.verification import show
    from clearhead.compare.proofs.verification import verify as run_proofs
    from clearhead.training.device_settings import use_threads

    use_threads(threads)
    found = run_proofs(peer, progress)
    print(show(found, format), end="")
    if found.missed:
        raise typer.Exit(MISSED)
