"""`clearhead compare rnn`: recurrent translators and the Transformer, measured side by side."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from clearhead.cli import bench_options as given


def rnn(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Directory for report, numbers and pictures.")
    ],
    data: Annotated[
        str | None,
        typer.Option(metavar="SPEC", help="Another corpus to translate, Tatoeba's file for one."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Seconds instead of minutes; to try the road.")
    ] = False,
    threads: given.Threads = None,
) -> None:
    """LSTM and GRU, with and without attention, as large as the Transformer beside them.

    Time and memory against length, gradients and recall against distance, BLEU against
    minutes, memory in decoding: report.md, numbers.json and pictures. About ten minutes.
    """
    from clearhead.compare.rnn.study import default_study, quick_study, run, write
    from clearhead.compare.setting import ready
    from clearhead.data.corpus import open_pairs

    if data:
        open_pairs(data)  # what is wrong with it is said now, not in ten minutes
    if output.exists() and not output.is_dir():
        from clearhead.errors import UserError

        raise UserError(f"{output} is a file; give a directory with -o")
    study = (quick_study if quick else default_study)(data)
    write(run(study, ready(threads), _say), output)
    print(output / "report.md")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
