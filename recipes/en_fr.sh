#!/usr/bin/env bash
# Train the translator in the package.
#
#   recipes/en_fr.sh DIRECTORY [OPTIONS OF clearhead train ...]
#
# DIRECTORY contains train.tsv, dev.tsv and test.tsv with one pair per line: English TAB
# French. Ours are everyday sentences of Tatoeba as collected by ManyThings (CC BY
# 2.0; `clearhead data get tatoeba` fetches them), split so that no held-out
# sentence, English or French, occurs in training.
#
# Machine: two CPU cores with bfloat16 units, one and a half to three hours.
set -euo pipefail
cd "$(dirname "$0")/.."
data=${1:?give a directory with train.tsv, dev.tsv and test.tsv (see: clearhead data get tatoeba)}
shift
attribution="sentences from tatoeba.org via manythings.org/anki, CC BY 2.0"
run=${RUN_DIR:-runs/en_fr}
shipped=${SHIPPED_DIR:-src/clearhead/shipped/en_fr}

# 1. Train: byte-pair encoding over both languages (a few seconds), then the model,
#    9.4 million parameters. Greedy BLEU on the dev sentences is near 33 after
#    1,000 steps, 40 after 1,500 and 44 after 3,000; the last 30 % of the steps, in which
#    the learning rate falls to zero, bring the rest, to 48.
clearhead train en_fr --run-dir "$run" \
  --set data.train="$data/train.tsv" --set data.dev="$data/dev.tsv" \
  --set data.attribution="$attribution" "$@"

# 2. Train it to copy names. Tatoeba contains few names, so a model trained on it alone
#    replaces an unknown name by a similar known one. In this step half of the pairs with a
#    name or a number get synthetic ones, different in each epoch; the grammar's sentences
#    help with agreement. (The shipped weights were trained in two parts, 425 and 1,250
#    steps, on a processor without bfloat16 units.)
clearhead train en_fr --run-dir "$run-names" --set model.path="$run/best" \
  --set data.train="$data/train.tsv + grammar:train:15000" --set data.dev="$data/dev.tsv" \
  --set data.attribution="$attribution" --set data.synthetic_names=0.5 \
  --set vocabulary.copies=2 --set model.dropout=0.12 \
  --set optimizer.schedule=cosine --set optimizer.peak_lr=1e-3 --set optimizer.warmup=50 \
  --set run.steps=1700 "$@"
run=$run-names

# 3. Evaluate it on sentences that were not used for any decision.
clearhead evaluate --model "$run/best" --data "$data/test.tsv" --beam-size 4 \
  --output "$run/test.hyp"

# 4. Store the weights in 16 bits for the package, which halves their size.
python - "$run/best" "$shipped" <<'PY'
import shutil
import sys
from pathlib import Path

import torch

from clearhead.files import record_checksums
from clearhead.models import Transformer
from clearhead.text import Tokenizer

source, target = map(Path, sys.argv[1:])
Transformer.from_pretrained(source).save_pretrained(target, dtype=torch.float16)
Tokenizer.load(source).save(target)
record_checksums(target, ["config.json", "model.safetensors", "tokenizer.json"])
if not (target / "README.md").exists():  # ours says more than the one made by training
    shutil.copy(source / "README.md", target / "README.md")
PY
# 5. The model's scores have changed, and with them the threshold of --mark-doubt.
echo "Measure the threshold of --mark-doubt: python -m benchmarks.doubt --model $shipped --write"
echo "The curves are in $run/curves.png, the model for the package in $shipped."
