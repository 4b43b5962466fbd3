#!/usr/bin/env bash
# Pre-train a small BERT on masked words, in a few minutes.
#
#   recipes/masked.sh [OPTIONS OF clearhead train ...]
#
# Machine: two CPU cores. Nothing is downloaded: the sentences are the English side of
# clearhead's grammar.
#
# With your own text: clearhead train masked --set data.train=my.txt
# (each paragraph is a text; one in twenty is kept for validation). A row of a batch is one text,
# between [CLS] and [SEP]; a text longer than model.seq_len is cut into windows.
set -euo pipefail
cd "$(dirname "$0")/.."
run=${RUN_DIR:-runs/masked}

# 1. Show the inputs: 15 % of the tokens are selected; most of them become the mask token, some
#    a random token, and some stay unchanged. Each epoch selects different ones.
python - <<'PY'
from clearhead.data.masking import Vocabulary, mask_tokens
from clearhead.data.corpus import Texts
from clearhead.text.learning import learn_wordpiece
import numpy as np
texts = Texts("grammar:train:2000")
tokenizer = learn_wordpiece(texts, 900)
special = tokenizer.special_ids
vocabulary = Vocabulary(tokenizer.vocab_size, tuple(special.values()), special["mask"])
for epoch, text in enumerate([*texts][:1] * 4):
    ids = np.array([tokenizer.encode(text)])
    print(" ".join(tokenizer.piece(i) for i in mask_tokens(ids, vocabulary, 1, epoch).ids[0]))
PY

# 2. Train. Only masked positions contribute to the loss, about a sixth of those of a causal
#    model, but each prediction uses the words on both sides. In the samples, a masked word is
#    in brackets; a wrong prediction follows an arrow.
clearhead train masked --run-dir "$run" "$@"

# 3. Predict masked words.
clearhead fill-mask --model "$run/best" "The old baker will [MASK] the bread." \
  "Is [MASK] singing in the garden?"

echo "The curves are in $run/curves.png, the model in $run/best."
