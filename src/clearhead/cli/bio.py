"""`clearhead bio dna|protein|cells train|predict|embed|pretrain|benchmark`."""

from collections.abc import Callable
from itertools import chain
from pathlib import Path

import typer

from clearhead.cli import bio_actions as actions
from clearhead.cli.bio_actions import (
    Changes,
    Continued,
    Data,
    Explain,
    Folds,
    LabelColumn,
    Labelled,
    Model,
    Only,
    Output,
    Pretrained,
    RecordName,
    Resume,
    RunDir,
    Seeds,
    SequenceColumn,
    ShowConfig,
    Similarity,
    Source,
    SplitColumn,
    Table,
    Vectors,
)
from clearhead.cli.bio_extra import contacts, delete, mutations, umap
from clearhead.cli.options import Quiet
from clearhead.cli.streams import check_output, warnings_on_stderr
from clearhead.errors import UserError

SEQUENCES = {
    "dna": "Sequences of bases.",
    "protein": "Sequences of residues.",
    "cells": "Cells as genes, ranked by expression.",
}
EXTRA: dict[str, tuple[Callable[..., None], ...]] = {
    "protein": (mutations, contacts),
    "cells": (delete, umap),
}


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
            actions.in_words_of(domain, command.callback)
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
