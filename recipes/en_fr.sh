#!/usr/bin/env bash
# Train a translator like the one in the package: the same architecture and data, from scratch.
#
#   recipes/en_fr.sh DIRECTORY [--set KEY=VALUE ...]
#
# DIRECTORY contains train.tsv, dev.tsv and test.tsv with one pair per line: English TAB
# French. For the translator in the package these are everyday sentences of Tatoeba as
# collected by ManyThings (CC BY 2.0; `clearhead data get tatoeba` fetches them as one file,
# fra.txt), split so that no held-out sentence, English or French, occurs in training.
#
# The finished model is in RUN_DIR/package. SHIPPED_DIR=src/clearhead/shipped/en_fr replaces the
# translator of the package instead; its README.md is not overwritten: update it by hand.
#
# Machine: two CPU cores, four and a quarter hours with bfloat16 units, twelve with AVX2 only;
# on Linux install tcmalloc first (sudo apt install libtcmalloc-minimal4). An interrupted run
# continues with the same command. benchmarks/RESULTS.md (From scratch) has the figures of this recipe
# and of its first round alone.
set -euo pipefail
cd "$(dirname "$0")/.."
data=${1:?give a directory with train.tsv, dev.tsv and test.tsv, parts of your corpus}
shift
for part in train dev test; do
  if [ ! -e "$data/$part.tsv" ]; then
    echo "$data/$part.tsv is missing; split a corpus (such as fra.txt of \`clearhead data get" \
      "tatoeba\`) into train.tsv, dev.tsv and test.tsv" >&2
    exit 1
  fi
done
attribution="sentences from tatoeba.org via manythings.org/anki, CC BY 2.0; clearhead's own pairs, CC0"
run=${RUN_DIR:-runs/en_fr}
shipped=${SHIPPED_DIR:-$run/package}

# 1. Collect the training pairs. Tatoeba has everyday sentences, but few names, numbers
#    and technical terms, and it translates Mary as Marie in a third of the pairs with that name;
#    those pairs are left out, because names are to be copied. Our own pairs (corpus/en_fr,
#    CC0) are taken once, those of single words, labels and markup (forms) twice. The wide grammar
#    adds dates, times, prices and agreement.
mkdir -p "$(dirname "$run")"
if [ ! -e "$run-pairs.tsv" ]; then
  {
    awk -F '\t' '!($1 ~ /Mary/ && $2 ~ /Marie/)' "$data/train.tsv"
    cat corpus/en_fr/*.tsv
    for _ in 1 2; do cat corpus/en_fr/forms/*.tsv; done
  } > "$run-pairs.tmp"
  mv "$run-pairs.tmp" "$run-pairs.tsv"
fi

# 2. Train: byte-pair encoding over both languages, then the model, 10.5 million
#    parameters. Eight encoder layers and two decoder layers: the encoder reads a
#    sentence once, the decoder runs for every token, so a deep encoder costs little
#    time. The corpus is encoded three times; each time, different pairs get synthetic
#    names and numbers, which teach copying, or another form (lower case, list items, no
#    full stop).
both=(
  --set data.train="$run-pairs.tsv + grammar:wide:train:40000"
  --set data.dev="$data/dev.tsv" --set data.attribution="$attribution"
  --set data.synthetic_names=0.3 --set data.input_forms=0.18 --set model.dropout=0.05
)
train() { # RUN_DIR OPTIONS: start a run, or continue it
  if [ -e "$1/last" ] || [ -e "$1/data/meta.json" ]; then
    clearhead train --resume --run-dir "$1"
  else
    clearhead train en_fr --run-dir "$1" "${both[@]}" "${@:2}"
  fi
}
train "$run" --set vocabulary.copies=3 --set run.steps=10000 "$@"

# 3. A second round of 2,500 steps begins with these weights: the rate rises again, other pairs get
#    synthetic names and other forms. Its options are those of the first round, but the sizes
#    and the vocabulary are those of the model.
others=()
while [ $# -gt 0 ]; do
  case "$1 ${2:-}" in
    "--set model."* | "--set vocabulary."*) shift 2 ;;
    *)
      others+=("$1")
      shift
      ;;
  esac
done
train "$run-2" --set model.path="$run/best" --set run.steps=2500 --set run.seed=2 \
  --set optimizer.peak_lr=1.5e-3 --set optimizer.warmup=100 \
  ${others[@]+"${others[@]}"} # an empty array is unset in bash 3

# 4. The mean of both models is better than each. Store its weights in 16 bits for the package, which
#    halves their size.
python - "$run/best" "$run-2/best" "$shipped" <<'PY'
import shutil
import sys
from pathlib import Path

import torch

from clearhead.files import record_checksums
from clearhead.models import Transformer
from clearhead.text import Tokenizer

first, second, target = map(Path, sys.argv[1:])
model, later = Transformer.from_pretrained(first), Transformer.from_pretrained(second)
with torch.no_grad():
    for weight, other in zip(model.parameters(), later.parameters(), strict=True):
        weight.lerp_(other, 0.7)
model.save_pretrained(target, dtype=torch.float16)
Tokenizer.load(first).save(target)
record_checksums(target, ["config.json", "model.safetensors", "tokenizer.json"])
if not (target / "README.md").exists():  # ours contains more than the one that training writes
    shutil.copy(first / "README.md", target / "README.md")
PY

# 5. Evaluate it on sentences that were not used for any decision.
clearhead evaluate --model "$shipped" --data "$data/test.tsv" --beam-size 4 \
  --output "$run/test.hyp"

# 6. The model's scores have changed, and with them the threshold of --mark-doubt.
echo "Measure the threshold of --mark-doubt: python -m benchmarks.doubt --model $shipped --write"
echo "The curves are in $run/curves.png and $run-2/curves.png, the model for the package in $shipped."
