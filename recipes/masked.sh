#!/usr/bin/env bash
# A small BERT that fills in hidden words, in about five minutes.
#
#   recipes/masked.sh [OPTIONS OF clearhead train ...]
#
# Machine: two CPU cores are enough. Nothing is downloaded: the sentences are the English
# side of clearhead's own grammar.
#
# Your own text instead: clearhead train masked --set data.train=my.txt
# (paragraphs are texts; one in twenty is kept to be judged on).
set -euo pipefail
cd "$(dirname "$0")/.."
run=${RUN_DIR:-runs/masked}

# 1. See what the model is asked: 15 % of the words are chosen; most become a mask, some
#    another word, some stay. In each epoch they are others.
python - <<'PY'
from clearhead.data.masking import Vocabulary, hide
from clearhead.data.texts import Texts
from clearhead.text.learning import learn_wordpiece
import numpy as np
texts = Texts("grammar:train:2000")
tokenizer = learn_wordpiece(texts, 900)
signs = tokenizer.signs
vocabulary = Vocabulary(tokenizer.vocab_size, tuple(signs.values()), signs["mask"])
for epoch, text in enumerate([*texts][:1] * 4):
    ids = np.array([tokenizer.encode(text)])
    print(" ".join(tokenizer.piece(i) for i in hide(ids, vocabulary, 1, epoch).ids[0]))
PY

# 2. Train. The loss looks at hidden places only, so a step teaches a sixth of what it
#    teaches a causal model, but each word is seen with both its sides. In the samples a
#    word in brackets was hidden; behind an arrow stands what the model said instead.
clearhead train masked --run-dir "$run" "$@"

# 3. Use it.
clearhead fill-mask --model "$run/best" "The old baker will [MASK] the bread." \
  "Is [MASK] singing in the garden?"

echo "The curves are in $run/curves.png, the model in $run/best."
