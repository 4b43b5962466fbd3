#!/usr/bin/env bash
# Train a language model and compare its perplexity with the lowest possible one, in a few minutes.
#
#   recipes/causal.sh [OPTIONS OF clearhead train ...]
#
# Machine: two CPU cores. Nothing is downloaded. The sentences come from a weighted English
# grammar, in which the probability of each sentence is known. Its entropy therefore gives
# the lowest perplexity that a model can reach.
#
# With your own text: clearhead train causal --set data.train=my.txt
# (each paragraph is a text; one in twenty is kept for validation).
set -euo pipefail
cd "$(dirname "$0")/.."
run=${RUN_DIR:-runs/causal}

# 1. Show some training sentences with their negative log probability.
python - <<'PY'
import math
from benchmarks.grammar_probability import english, probability
from clearhead.data.weighted_english import Measured
for sentence in Measured(8):
    print(f"{-math.log(probability(sentence)):6.2f} nats  {sentence}")
print(f"on average {english().derivation_entropy:.3f} nats and {english().mean_length:.2f} words")
PY

# 2. Train. The texts are concatenated and cut into blocks, so nothing is padded. The perplexity
#    falls from 1,500 (all tokens equally probable) to about 8. Each validation (at steps
#    500 and 1,000) shows samples, which become more plausible.
clearhead train causal --run-dir "$run" "$@"

# 3. Generate new sentences.
clearhead generate --model "$run/best" --max-new-tokens 20 --seed 1 "The old baker" "Does Alice"

# 4. Compare the model's negative log probability with the true one, on new sentences.
python -m benchmarks.grammar_entropy "$run/best" --sentences "${SENTENCES:-1000}"

echo "The curves are in $run/curves.png, the model in $run/best."
