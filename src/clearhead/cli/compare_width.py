"""`clearhead compare d-model`: what a wider model costs and gives."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from clearhead.cli import bench_options as given


def width(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Directory for report, numbers and the picture.")
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="Seconds instead of minutes; to try the road.")
    ] = False,
    threads: given.Threads = None,
) -> None:
    """Parameters, arithmetic, memory, speed and BLEU from d_model 128 to 768.

    DNABERT's 768 and Geneformer's 512 and 256 beside them. About seven minutes.
    """
    from clearhead.compare.setting import ready
    from clearhead.compare.width.report import write
    from clearhead.compare.width.study import default_study, quick_study, run
    from clearhead.errors import UserError

    if output.exists() and not output.is_dir():
        raise UserError(f"{output} is a file; give a directory with -o")
    write(run(quick_study() if quick else default_study(), ready(threads), _say), output)
    print(output / "report.md")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
