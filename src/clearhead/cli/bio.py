"""`clearhead bio dna|protein|cells train|predict|embed|pretrain|benchmark`, and their own verbs.

Proteins also have mutations and contacts, cells delete and umap.
"""

import copy
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Annotated, get_args

import typer

from clearhead.cli import bio_actions as actions
from clearhead.cli.options import Quiet
from clearhead.cli.streams import check_output, or_stdout, warnings_on_stderr
from clearhead.errors import UserError

SEQUENCES = {
    "dna": "Sequences of bases.",
    "protein": "Sequences of residues.",
    "cells": "Cells as genes, ranked by expression.",
}
FILES = "FASTA, FASTQ or a table (.csv, .tsv, .jsonl), all also with .gz, or .rda."
LABELLED = "A table (.csv, .tsv, .jsonl) of sequences and labels, also with .gz, or .rda."
# What `in_words_of` puts into the help texts: formats, a record, a model from elsewhere.
WORDS = {
    "dna": {"forms": FILES, "labelled": LABELLED, "record": "sequence", "peer": "DNABERT"},
    "protein": {"forms": FILES, "labelled": LABELLED, "record": "sequence", "peer": "ESM-2"},
    "cells": {
        "forms": ".h5ad, .mtx, or a table (.csv, .tsv, .jsonl) of GENE:VALUE pairs.",
        "labelled": ".h5ad with a column of labels, or a table of cells and labels.",
        "record": "cell",
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
LabelColumn = Annotated[
    str, typer.Option(help="Column of labels.", show_default="label, class, target, …")
]
SplitColumn = Annotated[
    str,
    typer.Option(help="Column of train, valid, test or folds.", show_default="split, fold, set"),
]
Pretrained = Annotated[
    str, typer.Option("--model", help="Directory of a clearhead bio model or {peer} to fine-tune.")
]
Continued = Annotated[
    str, typer.Option("--model", help="Directory of a model to start from: of bio, or {peer}.")
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="A file of tab-separated values, or .csv.",
        show_default="standard output", callback=or_stdout,
    ),
]  # fmt: skip
Vectors = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help=".npz, .tsv or .csv.",
        show_default="TSV to stdout",
        callback=or_stdout,
    ),
]

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
    typer.Option(help="Keep sequences in one fold that share this fraction of 4-mers; 0: off."),
]
Only = Annotated[
    list[str] | None, typer.Option(help="Run only this model of the table; may be repeated.")
]
Picture = Annotated[Path, typer.Option("--output", "-o", help="A .svg, .png or .pdf file.")]


def mutations(
    model: Model,
    data: Source,
    output: Output = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the map, position × amino acid, into this file.")
    ] = None,
    mutant: Annotated[
        list[str] | None, typer.Option(help="Score only this one, such as A24G:T31S.")
    ] = None,
) -> None:
    """Score every substitution of the first protein by masked marginals, without labels."""
    check_output(output)
    from clearhead.biology.protein import RESIDUES, masked_marginals, score_of, table
    from clearhead.explain.plots.biology import draw_mutations

    predictor, records = actions.open_both(model, data, "protein", "")
    sequence = next(records).sequence
    scores = masked_marginals(predictor.loaded, sequence)
    if picture is not None:
        draw_mutations(scores, sequence, RESIDUES, picture)
    rows = [["position", "wild type", *RESIDUES], *table(scores, sequence)]
    if mutant:
        named = [[name, f"{score_of(scores, sequence, name):.4f}"] for name in mutant]
        rows = [["mutant", "score"], *named]
    actions.pour_table(rows, output)


def contacts(
    model: Model,
    data: Source,
    picture: Picture,
    structure: Annotated[
        Path | None,
        typer.Option(help="Contacts of the structure: a table with two columns of positions."),
    ] = None,
) -> None:
    """Draw which pairs of positions of the first protein attend to each other."""
    from clearhead.biology.explaining import attention_of
    from clearhead.biology.protein import contacts
    from clearhead.data.sequences import read_contacts
    from clearhead.explain.plots.biology import draw_contacts

    predictor, records = actions.open_both(model, data, "protein", "")
    ids = predictor.encode([next(records)])[0]
    before, after = predictor.loaded.vocabulary.edges
    inner = slice(before, len(ids) - after)
    truth = None if structure is None else read_contacts(structure, inner.stop - inner.start)
    draw_contacts(contacts(attention_of(predictor.loaded.models[0], ids), inner), truth, picture)


def delete(
    model: Model,
    data: Source,
    gene: Annotated[str, typer.Option(help="Name of the gene, as in the data.")],
    output: Output = None,
) -> None:
    """Delete a gene in silico in every cell that expresses it.

    Writes 1 - cosine of the cell's vectors before and after; 0 means no effect.
    """
    check_output(output)
    from clearhead.biology.cells import deletion_shifts

    predictor, records = actions.open_both(model, data, "cells", "")
    shifts = deletion_shifts(predictor, records, gene)
    rows = ([shift.name, f"{shift.distance:.6f}"] for shift in shifts)
    actions.pour_table(chain([["name", "shift"]], rows), output)


def umap(
    model: Model,
    data: Source,
    picture: Picture,
) -> None:
    """Draw the cells' vectors in two dimensions, coloured by their labels (UMAP)."""
    from clearhead.biology.cells import draw_cells

    predictor, records = actions.open_both(model, data, "cells", "")
    draw_cells(predictor, records, picture)


EXTRA: dict[str, tuple[Callable[..., None], ...]] = {
    "protein": (mutations, contacts),
    "cells": (delete, umap),
}


def in_words_of(domain: str, verb: Callable[..., None]) -> None:
    """Put the words of a domain into a verb's help texts."""
    words = WORDS[domain]
    verb.__doc__ = (verb.__doc__ or "").format(**words)
    for name, hint in verb.__annotations__.items():
        kind, *infos = get_args(hint) or (hint,)
        if infos and infos[0].help:
            info = copy.copy(infos[0])
            info.help = info.help.format(**words)
            verb.__annotations__[name] = Annotated[kind, info]


def make_app(domain: str) -> typer.Typer:
    """The verbs for one kind of data."""
    app = typer.Typer(help=SEQUENCES[domain], no_args_is_help=True, rich_markup_mode=None)
    _add_training(app, domain)
    _add_using(app, domain)
    _add_benchmark(app, domain)
    for verb in EXTRA.get(domain, ()):
        app.command()(verb)
    for command in app.registered_commands:
        if command.callback:
            in_words_of(domain, command.callback)
    return app


def _add_training(app: typer.Typer, domain: str) -> None:
    @app.command()
    def train(
        data: Labelled = None,
        run_dir: RunDir = Path("runs") / f"bio-{domain}",
        model: Pretrained = "",
        sequence_column: SequenceColumn = "",
        label_column: LabelColumn = "",
        split_column: SplitColumn = "",
        changes: Changes = None,
        resume: Resume = False,
        show_config: ShowConfig = False,
    ) -> None:
        """Train a model on labelled {record}s and calibrate its probabilities."""
        short = {
            "data.train": data,
            "data.sequence": sequence_column,
            "data.label": label_column,
            "data.split": split_column,
            "model.path": model,
        }
        actions.train(f"{domain} train", short, changes, run_dir, resume, show_config)

    @app.command()
    def pretrain(
        data: Data = None,
        run_dir: RunDir = Path("runs") / f"bio-{domain}-pretrained",
        model: Continued = "",
        sequence_column: SequenceColumn = "",
        changes: Changes = None,
        resume: Resume = False,
        show_config: ShowConfig = False,
    ) -> None:
        """Train an encoder on unlabelled {record}s to fill in masked tokens."""
        short = {"data.train": data, "data.sequence": sequence_column, "model.path": model}
        actions.train(f"{domain} pretrain", short, changes, run_dir, resume, show_config)


def _add_using(app: typer.Typer, domain: str) -> None:
    @app.command()
    def predict(
        model: Model,
        data: Source,
        output: Output = None,
        sequence_column: SequenceColumn = "",
        explain: Explain = None,
        record: RecordName = "",
        quiet: Quiet = False,
    ) -> None:
        """Write one row per {record}: the probability of every class, a number, or labels."""
        check_output(output)
        if record and explain is None:
            raise UserError("--record names the record that --explain draws; give --explain FILE")
        if output is not None and explain is not None:
            raise UserError("--explain draws a picture instead of a table; leave out --output")
        if explain is not None:
            actions.explain((model, data, domain, sequence_column), record, explain)
            return
        with warnings_on_stderr(quiet):
            predictor, records = actions.open_both(model, data, domain, sequence_column)
            actions.pour_table(chain([predictor.columns], predictor.rows(records)), output)

    @app.command()
    def embed(
        model: Model,
        data: Source,
        output: Vectors = None,
        sequence_column: SequenceColumn = "",
        quiet: Quiet = False,
    ) -> None:
        """Write a vector per {record}: the mean of its hidden states, special tokens left out."""
        check_output(output)
        with warnings_on_stderr(quiet):
            actions.embed((model, data, domain, sequence_column), output)


def _add_benchmark(app: typer.Typer, domain: str) -> None:
    @app.command()
    def benchmark(
        data: Table,
        output: Output = None,
        run_dir: RunDir = Path("runs") / f"bio-{domain}-benchmark",
        folds: Folds = 5,
        seeds: Seeds = 1,
        similarity: Similarity = 0.0,
        only: Only = None,
        model: Pretrained = "",
        sequence_column: SequenceColumn = "",
        label_column: LabelColumn = "",
        split_column: SplitColumn = "",
        changes: Changes = None,
    ) -> None:
        """Compare the Transformer with baselines on the same folds; the best is marked with *."""
        check_output(output)
        columns = sequence_column, label_column, split_column
        values = actions.values(domain, {"model.path": model}, changes)
        plan = folds, seeds, similarity, tuple(only or ())
        actions.benchmark(data, columns, values, plan, (run_dir, output))


app = typer.Typer(help="DNA, proteins and cells.", no_args_is_help=True, rich_markup_mode=None)
for name in SEQUENCES:
    app.add_typer(make_app(name), name=name)
