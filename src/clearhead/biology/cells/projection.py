"""Cells in two dimensions (UMAP, McInnes et al. 2018)."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from clearhead.biology.predicting import Predictor
from clearhead.data.sequences import Record
from clearhead.errors import UserError
from clearhead.explain.plots.biology import draw_points

FEWEST = 10  # cells


def draw_cells(predictor: Predictor, records: Iterable[Record], path: Path) -> None:
    """Project every cell's vector and colour it by its label, or by the predicted one.

    Raises:
        UserError: umap-learn is not installed, or there are too few cells.
    """
    try:
        from umap import UMAP
    except ImportError as error:
        raise UserError("UMAP needs umap-learn: pip install 'clearhead[bio]'") from error
    every = list(records)
    if len(every) < FEWEST:
        raise UserError(f"{len(every)} cells are too few for a UMAP; give {FEWEST} or more")
    vectors = np.stack([vector for _, vector in predictor.vectors(every)])
    neighbours = min(15, len(every) - 1)
    places = UMAP(n_neighbors=neighbours, random_state=1, n_jobs=1).fit_transform(vectors)
    if every[0].label is not None:
        labels = [record.label or "" for record in every]
    elif predictor.config.labels:
        labels = [found.label for found in predictor.predict(every)]
    else:
        labels = ["cell"] * len(every)
    draw_points(np.asarray(places, dtype=np.float64), labels, path)
