"""Verbs of `clearhead bio` for proteins or cells alone."""

from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from clearhead.cli import bio_actions as actions
from clearhead.cli.bio_actions import Model, Output, Source
from clearhead.cli.streams import check_output

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
    from clearhead.data.contacts import read_contacts
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
