#!/usr/bin/env bash
# DNA: pre-train an encoder on a genome, fine-tune it to recognize promoters, compare with simpler models.
#
#   recipes/dna.sh [--set KEY=VALUE ...]
#
# Machine: two CPU cores, a few minutes. Nothing is downloaded: the genome and the promoters are
# synthetic. With data of your own, only the two files change:
#
#   GENOME=genome.fna.gz TABLE=promoters.csv recipes/dna.sh
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${RUN_DIR:-runs/dna}
genome=${GENOME:-$runs/genome.fna}
table=${TABLE:-$runs/promoters.csv}
mkdir -p "$runs"

# 1. Synthetic data. A promoter has two boxes, TTGACA and TATAAT, 17 bases apart, each with errors;
#    the genome contains such pairs on both strands.
python - "$runs" <<'PY'
import random
import sys
from pathlib import Path

from clearhead.biology.dna import reverse_complement

rng = random.Random(1)
def bases(count):
    return "".join(rng.choices("ACGT", k=count))
def box(motif):
    return "".join(rng.choice("ACGT") if rng.random() < 0.15 else base for base in motif)
def promoter():
    return bases(8) + box("TTGACA") + bases(17) + box("TATAAT") + bases(8)
runs = Path(sys.argv[1])
genome = "".join(rng.choice([promoter(), reverse_complement(promoter()), bases(60)]) for _ in range(900))
(runs / "genome.fna").write_text(f">synthetic\n{genome}\n")
rows = [f"{promoter()},promoter" if n % 2 else f"{bases(45)},other" for n in range(1200)]
(runs / "promoters.csv").write_text("sequence,label\n" + "\n".join(rows) + "\n")
PY

# 2. Pre-training: 15 % of the genome's bases are masked, and the encoder predicts them.
clearhead bio dna pretrain "$genome" --run-dir "$runs/encoder" --set run.steps=400 "$@"

# 3. Fine-tuning on promoters. Five models are trained, each with a different tenth of the table
#    held out. Their probabilities are averaged and calibrated on the held-out parts.
clearhead bio dna train "$table" --run-dir "$runs/promoters" --model "$runs/encoder" "$@"

# 4. Predict: one row per record. Show what a prediction depends on: the two boxes should stand out.
clearhead bio dna predict "$runs/promoters" "$table" -o "$runs/predictions.tsv"
clearhead bio dna predict "$runs/promoters" "$table" --record 2 --explain "$runs/why.svg"
head -3 "$runs/predictions.tsv"

# 5. Compare with the majority class, naive Bayes, regressions, gradient boosting and a small CNN on
#    the same folds. The best of each column is marked with *.
clearhead bio dna benchmark "$table" --folds 3 --run-dir "$runs/benchmark" "$@"
