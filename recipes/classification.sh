#!/usr/bin/env bash
# Fine-tuning: a small BERT that has only read sentences learns to say what they are.
#
#   recipes/classification.sh [OPTIONS OF clearhead train classification ...]
#
# Machine: two CPU cores are enough, a few minutes. Nothing is downloaded: the built-in grammar
# makes the sentences, and because it makes each from a tree it knows the truth about them:
# of a sentence its construction (object, copula, relative, wh_why, …), of a word what it does.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${RUN_DIR:-runs/classification}
base=${MODEL:-$runs/base/best}
small=(${SMALL:-})  # options for the first step and the third, as tests give them

# 1. A model that has read: 15 % of all words are hidden and it says which they were. No label is
#    involved. Skipped where MODEL names a BERT or ESM-2 directory of yours.
if [ -z "${MODEL:-}" ] && [ ! -e "$base/model.safetensors" ]; then
  clearhead train masked --run-dir "$runs/base" "${small[@]}"
fi

# 2. What there is to learn: 300 sentences with a label, most of them of a few constructions.
python - <<'PY'
from collections import Counter
from clearhead.data.labelled_grammar import labelled_sentences
texts = labelled_sentences("grammar:train:300")
for text in texts[:6]:
    print(f"{text.text:50} {text.label}")
print(Counter(text.label for text in texts).most_common())
PY

# 3. Learn it. LoRA: the trained matrices stay as they are, and beside each matrix that makes
#    queries and values two thin ones learn. At each evaluation every label has its line: the
#    accuracy looks good long before the rare ones are found, so `best` goes by macro F1.
clearhead train classification --run-dir "$runs/lora" --set "model.path=$base" \
  --set data.train=grammar:train:300 --set data.dev=grammar:dev:300 \
  --set data.attribution="clearhead's own grammar" \
  --set optimizer.peak_lr=1.0e-2 --set run.steps=400 --set run.eval_every=100 "$@"

# 4. Use it.
clearhead classify --model "$runs/lora/best" "Why did the baker leave?" \
  "There is a cat under the table." "She is taller than Paul."

# 5. The same for words: what each does in its sentence. "that" is the hard one: it begins a
#    relative clause, connects two clauses, or points at a noun.
clearhead train tagging --run-dir "$runs/tags" --set "model.path=$base" \
  --set data.train=grammar:train:300 --set data.dev=grammar:dev:300 \
  --set optimizer.peak_lr=1.0e-2 --set run.steps=300 --set run.eval_every=100 "$@"
clearhead classify --model "$runs/tags/best" "I think that that woman sold the house that she loved."

# 6. Was it worth to let everything learn? And what would a model know that never read?
python benchmarks/finetuning.py "$base" --steps "${STEPS:-300}" --test "${TEST:-1000}"
