"""The actions of `clearhead bio` and their options; torch is loaded only inside the actions."""

import csv
import io
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clearhead.cli.options import all_changes
from clearhead.cli.streams import or_stdout, pour, save
from clearhead.errors import UserError, shell_command
from clearhead.files import begun

if TYPE_CHECKING:
    from clearhead.biology.predicting import Predictor

GENES = 60  # of a cell in a picture
SEQUENCES = {
    "dna": "Sequences of bases.",
    "protein": "Sequences of residues.",
    "cells": "Cells as genes, ranked by expression.",
}
FILES = "FASTA, FASTQ or a table (.csv, .tsv, .jsonl), all also with .gz, or .rda."
LABELLED = "A table (.csv, .tsv, .jsonl) of sequences and labels, also with .gz, or .rda."
# What `in_words_of` puts into the help texts: formats, a record, a model from elsewhere.
COLUMNS = "label, class, target, …"
OF_SEQUENCES = {
    "forms": FILES,
    "labelled": LABELLED,
    "record": "sequence",
    "labels": COLUMNS,
    "answers": "class probabilities, a number, or a label per position",
}
WORDS = {
    "dna": OF_SEQUENCES | {"peer": "DNABERT"},
    "protein": OF_SEQUENCES | {"peer": "ESM-2"},
    "cells": {
        "forms": ".h5ad, .mtx, or a table (.csv, .tsv, .jsonl) of GENE:VALUE pairs.",
        "labelled": ".h5ad with a column of labels, or a table of cells and labels.",
        "record": "cell",
        "labels": "cell_type, label, … of .h5ad; label, class, … of a table",
        "answers": "class probabilities or a number",
        "peer": "Geneformer",
    },
}
Data = Annotated[str | None, typer.Argument(help="{forms}")]
Labelled = Annotated[str | None, typer.Argument(help="{labelled}")]
Table = Annotated[str, typer.Argument(help="Labelled {record}s, as for train.")]
Source = Annotated[str, typer.Argument(help="{forms}")]
Model = Annotated[Path, typer.Argument(help="Directory of a model or of a run.")]
RunDir = Annotated[
    Path, typer.Option("--run-dir", help="Directory for checkpoints, logs and the model.")
]
Changes = Annotated[
    list[str] | None, typer.Option("--set", help="section.key=value; may be repeated.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue the run in --run-dir.")]
ShowConfig = Annotated[
    bool, typer.Option("--show-config", help="Print the resolved recipe and stop.")
]
SequenceColumn = Annotated[
    str, typer.Option(help="Column of the {record}s.", show_default="sequence, seq or text")
]
LabelColumn = Annotated[str, typer.Option(help="Column of labels.", show_default="{labels}")]
SplitColumn = Annotated[
    str,
    typer.Option(help="Column with the split or the fold.", show_default="split, fold, set"),
]
Pretrained = Annotated[
    str, typer.Option("--model", help="Directory of a clearhead bio model or {peer} to fine-tune.")
]
Continued = Annotated[
    str, typer.Option("--model", help="Directory of a clearhead bio model or {peer} to start from.")
]


def _output(help: str, default: str) -> Any:
    return typer.Option("--output", "-o", help=help, show_default=default, callback=or_stdout)


Output = Annotated[
    Path | None, _output("A file of tab-separated values, or .csv.", "standard output")
]
Vectors = Annotated[Path | None, _output(".npz, .tsv or .csv.", "TSV to stdout")]
Explain = Annotated[
    Path | None,
    typer.Option(help="Draw attention and the effect of masking each token (.svg, .png, .pdf)."),
]
RecordName = Annotated[
    str, typer.Option(help="Name of the {record} to draw.", show_default="the first")
]
Folds = Annotated[
    int, typer.Option(help="Number of folds, unless the table has a column of folds.")
]
Seeds = Annotated[int, typer.Option(min=1, help="Seeds with which each neural network is trained.")]
Similarity = Annotated[
    float,
    typer.Option(help="Put sequences that share this fraction of 4-mers into one fold; 0: off."),
]
Only = Annotated[
    list[str] | None, typer.Option(help="Run only this model of the table; may be repeated.")
]
Picture = Annotated[Path, typer.Option("--output", "-o", help="A .svg, .png or .pdf file.")]


def benchmark(
    data: str, columns: tuple[str, str, str], values: dict[str, Any], plan: tuple[Any, ...],
    places: tuple[Path, Path | None],
) -> None:  # fmt: skip
    """Run every model on every fold and write the table."""
    from clearhead.biology.benchmark import Plan, benchmark, table_of
    from clearhead.biology.domains import read_labelled
    from clearhead.data.sequences import Columns
    from clearhead.training import console

    records = read_labelled(data, Columns(*columns), values["data"]["domain"])
    with console.shown():
        lines = benchmark(records, values, Plan(*plan), places[0])
    pour_table((line.split("\t") for line in table_of(lines)), places[1])


def explain(what: tuple[Path, str, str, str], name: str, picture: Path) -> None:
    """Draw one record, the first unless it is named."""
    from clearhead.biology.explaining import explain, strongest
    from clearhead.explain.plots.biology import draw_explanation

    predictor, records = open_both(*what)
    found = next((r for r in records if name in ("", r.name)), None)
    if found is None:
        raise UserError(f"{what[1]} has no record {name!r}; give the name of one of its records")
    said = next(iter(predictor.predict([found])))
    shown = explain(predictor.loaded, found.sequence)
    title = f"{found.name}: predicted {said.label}, probability {said.chances.max():.2f}"
    if predictor.config.domain == "cells" and len(shown.pieces) > GENES:
        shown = strongest(shown, GENES)
        title += f"; the {GENES} genes of the largest effect, by rank"
    genes = predictor.config.domain == "cells"
    draw_explanation(*shown, title, picture, "gene, by rank" if genes else "token")


def open_both(
    model: Path, data: str, domain: Any, column: str, label: str = ""
) -> tuple["Predictor", Iterator[Any]]:
    """The model, and the records of a file, ready for it."""
    from clearhead.biology.domains import read
    from clearhead.biology.predicting import Predictor
    from clearhead.data.sequences import Columns

    predictor = Predictor.from_pretrained(model, domain)
    known = predictor.loaded.vocabulary.ids
    return predictor, read(data, Columns(column, label), predictor.config.domain, known)


def pour_table(rows: Iterable[list[str]], output: Path | None) -> None:
    """Write a table, tabs between its cells; commas where the name of the file ends with .csv."""
    as_csv = output is not None and output.suffix.lower() == ".csv"
    pour(map(_comma_separated if as_csv else _tab_separated, rows), output)


def headed(head: list[str], rows: Iterable[list[str]]) -> Iterator[list[str]]:
    """The rows below their head, which is written only if the first can be computed."""
    return chain([head], begun(rows))


def _tab_separated(cells: list[str]) -> bytes:
    return ("\t".join(cells) + "\n").encode()


def _comma_separated(cells: list[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue().encode()


def embed(what: tuple[Path, str, str, str], output: Path | None) -> None:
    """Write a vector for each record, as `clearhead embed` does."""
    import numpy as np

    from clearhead.pipelines.embedding import Embedded, Named
    from clearhead.pipelines.embedding_files import write_npz, write_tsv

    predictor, records = open_both(*what)
    vectors = predictor.vectors(records)
    found = (Embedded(Named(name, ""), [], v.astype(np.float32)) for name, v in vectors)
    ending, width = output.suffix.lower() if output else ".tsv", predictor.config.d_model
    if ending == ".csv":
        rows = ([e.named.name, *(f"{x:.9g}" for x in e.vectors.tolist())] for e in found)
        pour_table(headed(["id", *map(str, range(width))], rows), output)
        return
    write = write_npz if ending == ".npz" else write_tsv
    save(output, lambda sink: write(found, sink, width))


Short = dict[str, str | None]


def changes_of(short: Short, changes: list[str] | None) -> list[str]:
    """Options in the form of `--set`, then what `--set` changes, which is never the same key."""

    def clash(key: str, change: str) -> str:
        return f"{key} is {short[key]!r} by an argument or option, and --set {change} changes it"

    given = {key: value for key, value in short.items() if value}
    return all_changes(given, changes or [], clash)


def values(domain: str, short: Short, changes: list[str] | None) -> dict[str, Any]:
    """Options and `--set` as the sections of a recipe.

    Raises:
        UserError: `--set` names another domain than the command.
    """
    from clearhead.training.recipe_file import override

    values: dict[str, Any] = {}
    for change in [f"data.domain={domain}", *changes_of(short, changes)]:
        override(values, change)
    if (other := values["data"]["domain"]) != domain:
        raise UserError(f"data.domain={other} is not for `clearhead bio {domain}`; leave it out")
    return values


def train(
    verb: str, short: Short, changes: list[str] | None, run_dir: Path,
    resume: bool, show_config: bool,
) -> None:  # fmt: skip
    """Start or resume a run such as `dna train`; print the directory of the model."""
    from clearhead.biology import training
    from clearhead.training import console
    from clearhead.training.recipe_file import dump_recipe

    given = values(verb.split()[0], short, changes)
    with console.shown():
        recipe: Any
        if resume:
            recipe = training.recipe_of(run_dir, changes_of(short, changes))
            task = "pretrain" if recipe.task == "biology-masked" else "train"
            if (own := f"{recipe.data.domain} {task}") != verb:
                raise UserError(
                    f"{run_dir} holds a run of `clearhead bio {own}`; resume it with that"
                )
        elif "train" not in given["data"]:
            raise UserError("no training data: give a file, or continue a run with --resume")
        else:
            masked = {"task": "biology-masked"} if verb.endswith("pretrain") else {}
            recipe = training.resolve(given | masked)
        if show_config:
            print(dump_recipe(recipe), end="")
            return
        try:
            best = training.start(recipe, run_dir, resume)
        except KeyboardInterrupt as stopped:
            command = ["clearhead", "bio", *verb.split(), "--resume", "--run-dir", str(run_dir)]
            print(f"stopped; continue with: {shell_command(*command)}", file=sys.stderr)
            if stopped.args:  # the number of the signal
                raise SystemExit(128 + stopped.args[0]) from None
            raise
    print(f"the model is in {shell_command(best)}")
