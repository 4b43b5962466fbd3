#!/usr/bin/env bash
# How the translator that comes with clearhead was trained.
#
#   recipes/en_fr.sh DIRECTORY [OPTIONS OF clearhead train ...]
#
# DIRECTORY holds train.tsv, dev.tsv and test.tsv: English TAB French, one pair a
# line. Ours are everyday sentences of Tatoeba as collected by ManyThings (CC BY
# 2.0; `clearhead data get tatoeba` fetches them), split so that no held-out
# sentence, English or French, occurs in training.
#
# Machine: two CPU cores with bfloat16 units, one and a half to three hours, by how busy they are.
set -euo pipefail
cd "$(dirname "$0")/.."
data=${1:?give a directory with train.tsv, dev.tsv and test.tsv (see: clearhead data get tatoeba)}
shift
run=${RUN_DIR:-runs/en_fr}
shipped=${SHIPPED_DIR:-src/clearhead/shipped/en_fr}

# 1. Train: byte-pair encoding over both languages (a few seconds), then the model,
#    9.4 million parameters. Greedy BLEU on the dev sentences is near 33 after
#    1,000 steps, 40 after 1,500 and 44 after 3,000; the last 30 % of the steps, in which
#    the learning rate falls to zero, bring the rest, to 48.
clearhead train en_fr --run-dir "$run" \
  --set data.train="$data/train.tsv" --set data.dev="$data/dev.tsv" "$@"

# 2. Teach it to copy: Tatoeba's names are few, and a model of nothing else writes one of
#    them for any other. So, on from there, half of the pairs with a name or a number have
#    made-up ones, every time others; the grammar's sentences are for agreement. (Ours went
#    on in two goes, 425 steps and 1,250, on a processor without bfloat16 units.)
clearhead train en_fr --run-dir "$run-names" --set model.path="$run/best" \
  --set data.train="$data/train.tsv + grammar:train:15000" --set data.dev="$data/dev.tsv" \
  --set data.made_up=0.5 --set vocabulary.copies=2 --set model.dropout=0.12 \
  --set optimizer.schedule=cosine --set optimizer.peak_lr=1e-3 --set optimizer.warmup=50 \
  --set run.steps=1700 "$@"
run=$run-names

# 3. Score it on sentences that played no part in any choice.
clearhead evaluate --model "$run/best" --data "$data/test.tsv" --beam-size 4 \
  --output "$run/test.hyp"

# 4. Halve the weights' size for the package: 16 bits are enough to translate with.
python - "$run/best" "$shipped" <<'PY'
import shutil
import sys
from pathlib import Path

import torch

from clearhead.models import Transformer
from clearhead.text import Tokenizer

source, target = map(Path, sys.argv[1:])
Transformer.from_pretrained(source).save_pretrained(target, dtype=torch.float16)
Tokenizer.load(source).save(target)
if not (target / "README.md").exists():  # ours says more than the one made by training
    shutil.copy(source / "README.md", target / "README.md")
PY
echo "The curves are in $run/curves.png, the model for the package in $shipped."
