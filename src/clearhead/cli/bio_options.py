"""Arguments and options of `clearhead bio`."""

from pathlib import Path
from typing import Annotated

import typer

FORMS = "FASTA, FASTQ, a table (.csv, .tsv, .jsonl), perhaps with .gz; of cells .h5ad or .mtx."
Data = Annotated[str | None, typer.Argument(help=FORMS)]
Table = Annotated[str, typer.Argument(help="Labelled sequences or cells, as for train.")]
Source = Annotated[str, typer.Argument(help=FORMS)]
Model = Annotated[Path, typer.Argument(help="Directory of a model or of a run.")]
RunDir = Annotated[
    Path, typer.Option("--run-dir", help="Where the run keeps everything that it makes.")
]
Changes = Annotated[
    list[str] | None, typer.Option("--set", help="section.key=value; may be repeated.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue the run in --run-dir.")]
ShowConfig = Annotated[
    bool, typer.Option("--show-config", help="Print the resolved recipe and stop.")
]
SequenceColumn = Annotated[
    str, typer.Option(help="Column of the sequences.", show_default="the usual names")
]
LabelColumn = Annotated[
    str, typer.Option(help="Column of the labels.", show_default="the usual names")
]
SplitColumn = Annotated[
    str, typer.Option(help="Column that says train, valid or test.", show_default="split")
]
Pretrained = Annotated[
    str, typer.Option("--model", help="Fine-tune this model: ours, DNABERT, ESM-2 or Geneformer.")
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="A file, instead of standard output.")
]

Explain = Annotated[
    Path | None,
    typer.Option(help="Draw what the answer depends on into this .svg, .png or .pdf instead."),
]
RecordName = Annotated[str, typer.Option(help="Of the record to draw.", show_default="the first")]
Folds = Annotated[int, typer.Option(help="Unless the table has a column of folds.")]
Seeds = Annotated[int, typer.Option(help="Repetitions of the learned models.")]
Similarity = Annotated[
    float,
    typer.Option(help="Sequences that share so many of their 4-letter words stay in one fold."),
]
Only = Annotated[
    list[str] | None, typer.Option(help="Run only this model of the table; may be repeated.")
]
