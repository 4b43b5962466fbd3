"""`clearhead bio dna|protein|cells train|predict|embed|pretrain|benchmark`, and their own verbs.

Proteins also have mutations and contacts, cells delete and umap.
"""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, get_args

import typer

from clearhead.cli import bio_actions as actions
from clearhead.cli.options import Quiet
from clearhead.cli.streams import check_output, warnings_on_stderr
from clearhead.errors import UserError


def mutations(
    model: actions.Model,
    data: actions.Source,
    output: actions.Output = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the map, position × amino acid, into this file.")
    ] = None,
    mutant: Annotated[
        list[str] | None, typer.Option(help="Score only this one, such as A24G:T31S.")
    ] = None,
) -> None:
    """Score every substitution of the first protein by masked marginals, without labels."""
    check_output(output, data)
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
    model: actions.Model,
    data: actions.Source,
    picture: actions.Picture,
    structure: Annotated[
        Path | None,
        typer.Option(help="Contacts of the structure: a table with two columns of positions."),
    ] = None,
) -> None:
    """Draw which pairs of positions of the first protein attend to each other."""
    from clearhead.biology.explaining import attention_of
    from clearhead.biology.protein import contacts
    from clearhead.data.contacts import read_contacts
    from clearhead.explain.plots.biology import draw_contacts

    predictor, records = actions.open_both(model, data, "protein", "")
    ids = predictor.encode([next(records)])[0]
    before, after = predictor.loaded.vocabulary.edges
    inner = slice(before, len(ids) - after)
    truth = None if structure is None else read_contacts(structure, inner.stop - inner.start)
    attention = attention_of(predictor.loaded.models[0], ids)
    if (seen := attention.shape[-1]) != len(ids):
        raise UserError(
            f"{model} has attention between {seen} of {len(ids)} tokens only (those that varied in "
            "training, or pooled ones); give ESM-2 or a run of bio protein pretrain"
        )
    draw_contacts(contacts(attention, inner), truth, picture)


def delete(
    model: actions.Model,
    data: actions.Source,
    gene: Annotated[str, typer.Option(help="Name of the gene, as in the data.")],
    output: actions.Output = None,
) -> None:
    """Delete a gene in silico in every cell that expresses it.

    Writes 1 - cosine of the cell's vectors before and after; 0 means no effect.
    """
    check_output(output, data)
    from clearhead.biology.cells import deletion_shifts

    predictor, records = actions.open_both(model, data, "cells", "")
    shifts = deletion_shifts(predictor, records, gene)
    rows = ([shift.name, f"{shift.distance:.6f}"] for shift in shifts)
    actions.pour_table(actions.headed(["name", "shift"], rows), output)


def umap(
    model: actions.Model,
    data: actions.Source,
    picture: actions.Picture,
    label_column: actions.LabelColumn = "",
) -> None:
    """Draw the cells' vectors in two dimensions, coloured by their labels (UMAP)."""
    from clearhead.biology.cells import draw_cells

    predictor, records = actions.open_both(model, data, "cells", "", label_column)
    draw_cells(predictor, records, picture)


EXTRA: dict[str, tuple[Callable[..., None], ...]] = {
    "protein": (mutations, contacts),
    "cells": (delete, umap),
}


def in_words_of(domain: str, verb: Callable[..., None]) -> None:
    """Put the words of a domain into a verb's help texts."""
    words = actions.WORDS[domain]
    verb.__doc__ = (verb.__doc__ or "").format(**words)
    for name, hint in verb.__annotations__.items():
        kind, *infos = get_args(hint) or (hint,)
        if infos and infos[0].help:
            info = copy.copy(infos[0])
            info.help = info.help.format(**words)
            if isinstance(info.show_default, str):
                info.show_default = info.show_default.format(**words)
            verb.__annotations__[name] = Annotated[kind, info]


def make_app(domain: str) -> typer.Typer:
    """The verbs for one kind of data."""
    app = typer.Typer(help=actions.SEQUENCES[domain], no_args_is_help=True, rich_markup_mode=None)
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
        data: actions.Labelled = None,
        run_dir: actions.RunDir = Path("runs") / f"bio-{domain}",
        model: actions.Pretrained = "",
        sequence_column: actions.SequenceColumn = "",
        label_column: actions.LabelColumn = "",
        split_column: actions.SplitColumn = "",
        changes: actions.Changes = None,
        resume: actions.Resume = False,
        show_config: actions.ShowConfig = False,
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
        data: actions.Data = None,
        run_dir: actions.RunDir = Path("runs") / f"bio-{domain}-pretrained",
        model: actions.Continued = "",
        sequence_column: actions.SequenceColumn = "",
        changes: actions.Changes = None,
        resume: actions.Resume = False,
        show_config: actions.ShowConfig = False,
    ) -> None:
        """Train an encoder on unlabelled {record}s to fill in masked tokens."""
        short = {"data.train": data, "data.sequence": sequence_column, "model.path": model}
        actions.train(f"{domain} pretrain", short, changes, run_dir, resume, show_config)


def _add_using(app: typer.Typer, domain: str) -> None:
    @app.command()
    def predict(
        model: actions.Model,
        data: actions.Source,
        output: actions.Output = None,
        sequence_column: actions.SequenceColumn = "",
        explain: actions.Explain = None,
        record: actions.RecordName = "",
        quiet: Quiet = False,
    ) -> None:
        """Write one row per {record}: {answers}."""
        check_output(output, data)
        if record and explain is None:
            raise UserError("--record names the record that --explain draws; give --explain FILE")
        if output is not None and explain is not None:
            raise UserError("--explain draws a picture instead of a table; leave out --output")
        if explain is not None:
            actions.explain((model, data, domain, sequence_column), record, explain)
            return
        with warnings_on_stderr(quiet):
            predictor, records = actions.open_both(model, data, domain, sequence_column)
            actions.pour_table(actions.headed(predictor.columns, predictor.rows(records)), output)

    @app.command()
    def embed(
        model: actions.Model,
        data: actions.Source,
        output: actions.Vectors = None,
        sequence_column: actions.SequenceColumn = "",
        quiet: Quiet = False,
    ) -> None:
        """Write a vector per {record}: the mean of its hidden states, special tokens left out."""
        check_output(output, data, ".npz", ".tsv", ".csv")
        with warnings_on_stderr(quiet):
            actions.embed((model, data, domain, sequence_column), output)


def _add_benchmark(app: typer.Typer, domain: str) -> None:
    @app.command()
    def benchmark(
        data: actions.Table,
        output: actions.Output = None,
        run_dir: actions.RunDir = Path("runs") / f"bio-{domain}-benchmark",
        folds: actions.Folds = 5,
        seeds: actions.Seeds = 1,
        similarity: actions.Similarity = 0.0,
        only: actions.Only = None,
        model: actions.Pretrained = "",
        sequence_column: actions.SequenceColumn = "",
        label_column: actions.LabelColumn = "",
        split_column: actions.SplitColumn = "",
        changes: actions.Changes = None,
    ) -> None:
        """Compare the Transformer with baselines on the same folds; the best is marked with *."""
        check_output(output, data)
        if domain == "cells" and 0 < similarity < 1:
            raise UserError(
                f"--similarity {similarity:g} compares letters of sequences, which cells do not "
                "have; give 1 (equal cells are in one fold), or leave it out"
            )
        columns = sequence_column, label_column, split_column
        values = actions.values(domain, {"model.path": model}, changes)
        plan = folds, seeds, similarity, tuple(only or ())
        actions.benchmark(data, columns, values, plan, (run_dir, output))


app = typer.Typer(help="DNA, proteins and cells.", no_args_is_help=True, rich_markup_mode=None)
for name in actions.SEQUENCES:
    app.add_typer(make_app(name), name=name)
