#!/usr/bin/env bash
# Proteins: pre-train an encoder on a family, learn the effects of mutations, compare with ridge regression.
#
#   recipes/protein.sh [--set KEY=VALUE ...]
#
# Machine: two CPU cores, a few minutes. Nothing is downloaded: the family and its mutants are synthetic.
# With data of your own, only the two files change:
#
#   FAMILY=family.fasta TABLE=mutants.csv recipes/protein.sh
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${RUN_DIR:-runs/protein}
family=${FAMILY:-$runs/family.fasta}
table=${TABLE:-$runs/mutants.csv}
mkdir -p "$runs"

# 1. Synthetic data. Members of the family differ from one protein at a few positions; positions 9
#    and 17 change together. The fitness of a mutant is high where these two fit each other.
python - "$runs" <<'PY'
import random
import sys
from pathlib import Path

rng = random.Random(1)
wild = "MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQ"
pairs = ["QH", "ED", "KD", "LV"]
def member():
    residues = [rng.choice("ACDEFGHIKLMNPQRSTVWY") if rng.random() < 0.1 else r for r in wild]
    residues[8], residues[16] = rng.choice(pairs)
    return "".join(residues)
def mutant():
    residues = list(wild)
    residues[8], residues[16] = rng.choice("QEKL"), rng.choice("HDV")
    fits = residues[8] + residues[16] in pairs
    return "".join(residues), 2.0 * fits + 0.5 * (residues[16] == "D") + rng.gauss(0, 0.05)
runs = Path(sys.argv[1])
(runs / "family.fasta").write_text("".join(f">p{n}\n{member()}\n" for n in range(600)))
rows = (f"{sequence},{fitness:.4f}" for sequence, fitness in (mutant() for _ in range(400)))
(runs / "mutants.csv").write_text("sequence,fitness\n" + "\n".join(rows) + "\n")
PY

# 2. Pre-training: 15 % of the family's residues are masked, and the encoder predicts them.
clearhead bio protein pretrain "$family" --run-dir "$runs/encoder" --set run.steps=400 "$@"

# 3. Without any label, score every substitution of the first protein, and draw the map.
clearhead bio protein mutations "$runs/encoder" "$family" --picture "$runs/mutations.svg" \
  -o "$runs/mutations.tsv"

# 4. Learn the fitness of the mutants: ridge regression, corrected by the Transformer.
clearhead bio protein train "$table" --run-dir "$runs/fitness" "$@"
clearhead bio protein predict "$runs/fitness" "$table" -o "$runs/predictions.tsv"
head -3 "$runs/predictions.tsv"

# 5. Did the Transformer add anything to ridge regression? The best of each column is marked with *.
clearhead bio protein benchmark "$table" --folds 3 --run-dir "$runs/benchmark" "$@"
