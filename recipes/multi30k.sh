#!/usr/bin/env bash
# Multi30k, English to French, text only: three seeds, scored in two ways.
#
#   recipes/multi30k.sh DIRECTORY [OPTIONS OF clearhead train ...]
#
# DIRECTORY holds train, val and test_2016_flickr, each as .en and .fr: captions of
# photographs. `clearhead data get multi30k` puts them into data/multi30k. The 29,000
# pairs of train are all that the models ever see; val chooses among their states; the
# test sets are translated once, at the end.
#
# Machine: a seed takes an hour on two cores with bfloat16 units (AVX512-BF16), an hour and a half
# on one of them, two hours on two with AVX2 alone.
# Needs sacremoses, for the second score: pip install 'clearhead[compare]'
set -euo pipefail
cd "$(dirname "$0")/.."
data=${1:?give a directory with train.en, train.fr, val.en, … (see: clearhead data get multi30k)}
shift
runs=${RUN_DIR:-runs/multi30k}
seeds=${SEEDS:-1 2 3}

for seed in $seeds; do
  run=$runs/seed-$seed

  # 1. Train. So few sentences are soon known by heart: what counts is what keeps the
  #    model from it (weight decay, dropout, label smoothing, a small model) and many
  #    epochs. Watch the two curves part in curves.png.
  clearhead train multi30k --run-dir "$run" --set run.seed="$seed" \
    --set data.train="$data/train.en,$data/train.fr" \
    --set data.dev="$data/val.en,$data/val.fr" "$@"

  # 2. Score it: sacreBLEU on the French as it was written, and, for a comparison with
  #    papers, BLEU of what Moses makes of it, lower-cased and tokenised. The second
  #    number is the higher one; neither may be compared with the other.
  mkdir -p "$run/scores"
  for test in test_2016_flickr test_2017_flickr test_2017_mscoco; do
    if [ ! -f "$data/$test.en" ]; then continue; fi
    references=(--as-papers)
    if [ -f "$data/$test.lc.norm.tok.fr" ]; then
      references=(--tokenized-references "$data/$test.lc.norm.tok.fr")
    fi
    clearhead evaluate --model "$run/best" --data "$data/$test.en,$data/$test.fr" \
      --beam-size "${BEAM_SIZE:-5}" "${references[@]}" \
      --output "$run/scores/$test.hyp" --json > "$run/scores/$test.json"
  done
done

# 3. One seed is luck: report the mean, and how far the seeds lie apart.
directories=() others=()
for seed in $seeds; do directories+=("$runs/seed-$seed"); done
python benchmarks/multi30k.py "${directories[@]}"

# 4. What they know together: every next token from the mean of all their probabilities.
for directory in "${directories[@]:1}"; do others+=(--ensemble "$directory/best"); done
if [ ${#others[@]} -gt 0 ]; then
  clearhead evaluate --model "${directories[0]}/best" "${others[@]}" --as-papers \
    --data "$data/test_2016_flickr.en,$data/test_2016_flickr.fr" \
    --beam-size "${BEAM_SIZE:-5}" --output "$runs/ensemble.hyp"
fi
