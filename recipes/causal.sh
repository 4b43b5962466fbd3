#!/usr/bin/env bash
# A language model, and how near it comes to the best that is possible: five minutes.
#
#   recipes/causal.sh [OPTIONS OF clearhead train ...]
#
# Machine: two CPU cores are enough. Nothing is downloaded. The sentences come from a
# weighted grammar of English: each has a probability that is known exactly, so there is
# a perplexity that no model can fall below, and here it is computed.
#
# Your own text instead: clearhead train causal --set data.train=my.txt
# (paragraphs are texts; one in twenty is kept to be judged on).
set -euo pipefail
cd "$(dirname "$0")/.."
run=${RUN_DIR:-runs/causal}

# 1. See what the model will learn from: a sentence, and how improbable it is.
python - <<'PY'
import math
from clearhead.data.weighted_english import Measured, english_grammar, probability
for sentence in Measured(8):
    print(f"{-math.log(probability(sentence)):6.2f} nats  {sentence}")
grammar = english_grammar()
print(f"on average {grammar.derivation_entropy:.3f} nats and {grammar.mean_length:.2f} words")
PY

# 2. Train. Texts are laid end to end and cut into blocks, nothing is padded. Perplexity
#    falls from 1,500 (any piece as likely as any other) to about 8. The continuations
#    that are shown at each evaluation are word salad first, then English, then English
#    in which a cook cooks and a king does not bark.
clearhead train causal --run-dir "$run" "$@"

# 3. Use it: sentences nobody wrote.
clearhead generate --model "$run/best" --max-new-tokens 20 --seed 1 "The old baker" "Does Alice"

# 4. Measure it: the model's surprise against the true one, on fresh sentences.
python benchmarks/grammar_entropy.py "$run/best" --sentences "${SENTENCES:-1000}"

echo "The curves are in $run/curves.png, the model in $run/best."
