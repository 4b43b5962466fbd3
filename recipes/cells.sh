#!/usr/bin/env bash
# Cells: an encoder reads the genes of a cell, sorted by expression, and learns cell types.
#
#   recipes/cells.sh [--set KEY=VALUE ...]
#
# Machine: two CPU cores, a few minutes. Nothing is downloaded: the counts are synthetic. With data
# of your own, counts in an AnnData file with a column of labels:
#
#   CELLS=cells.h5ad recipes/cells.sh
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${RUN_DIR:-runs/cells}
cells=${CELLS:-$runs/cells.h5ad}
mkdir -p "$runs"

# 1. Synthetic counts. Each of three types expresses eight marker genes more strongly than the rest.
python - "$runs/cells.h5ad" <<'PY'
import sys

import anndata
import numpy as np
import pandas as pd

pd.set_option("future.infer_string", False)  # anndata writes plain strings

rng = np.random.default_rng(1)
types = np.arange(240) % 3
rates = rng.gamma(1.0, 1.0, size=60) * np.ones((240, 1))
for number in range(3):
    rates[types == number, 8 * number : 8 * number + 8] += 3
counts = rng.poisson(rates).astype(np.float32)
genes = pd.DataFrame(index=[f"GENE{n}" for n in range(60)])
labels = pd.DataFrame({"cell_type": [f"type {n}" for n in types]}, index=[f"cell{n}" for n in range(240)])
anndata.AnnData(counts, obs=labels, var=genes).write_h5ad(sys.argv[1])
PY

# 2. Pre-training: 15 % of the genes are masked, and the encoder predicts them.
clearhead bio cells pretrain "$cells" --run-dir "$runs/encoder" --set run.steps=300 "$@"

# 3. Learn the types. A linear model of the ranks is part of the scores.
clearhead bio cells train "$cells" --run-dir "$runs/types" "$@"

# 4. Use the model: predict one row per cell, draw a map of the cells, and delete a gene in silico.
clearhead bio cells predict "$runs/types" "$cells" -o "$runs/predictions.tsv"
clearhead bio cells umap "$runs/types" "$cells" -o "$runs/umap.svg"
gene=${GENE:-GENE3}
clearhead bio cells delete "$runs/types" "$cells" --gene "$gene" -o "$runs/deletion.tsv"
head -3 "$runs/predictions.tsv"

# 5. Was a Transformer needed? The best of each column is marked with *.
clearhead bio cells benchmark "$cells" --folds 3 --run-dir "$runs/benchmark" "$@"
