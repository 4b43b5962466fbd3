#!/usr/bin/env bash
# Multi30k, English to French, text only: three seeds, scored in two ways.
#
#   recipes/multi30k.sh DIRECTORY [--set KEY=VALUE ...]
#
# DIRECTORY contains train, val and test_2016_flickr, each as .en and .fr: captions of
# photographs. `clearhead data get multi30k` downloads them to data/multi30k. The models are
# trained on the 29,000 pairs of train only; val selects the checkpoint; the test sets are
# translated once, at the end.
#
# Machine: a seed takes an hour on two cores with bfloat16 units (AVX512-BF16), an hour and a half
# on one of them, two hours on two cores with AVX2 only.
# Needs sacremoses, for the second score: pip install 'clearhead[compare]'
set -euo pipefail
cd "$(dirname "$0")/.."
data=${1:?give a directory with train.en, train.fr, val.en, … (see: clearhead data get multi30k)}
shift
attribution="Multi30k (Elliott et al. 2016, 2017), for research and education, not commercial"
runs=${RUN_DIR:-runs/multi30k}
seeds=${SEEDS:-1 2 3}

for seed in $seeds; do
  run=$runs/seed-$seed

  # 1. Train. A model overfits so few sentences quickly. Weight decay, dropout, label smoothing
  #    and a small model prevent it, so that many epochs help. curves.png shows the training and
  #    the validation loss.
  clearhead train multi30k --run-dir "$run" --set run.seed="$seed" \
    --set data.train="$data/train.en,$data/train.fr" \
    --set data.attribution="$attribution" \
    --set data.dev="$data/val.en,$data/val.fr" "$@"

  # 2. Evaluate: sacreBLEU on the French text, and BLEU on lower-cased, Moses-tokenized text
  #    as papers report it. The second is higher; the two cannot be compared.
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

# 3. Report the mean and the standard deviation over the seeds.
directories=() others=()
for seed in $seeds; do directories+=("$runs/seed-$seed"); done
python benchmarks/multi30k.py "${directories[@]}"

# 4. Evaluate the ensemble, which averages the probabilities of all models.
for directory in "${directories[@]:1}"; do others+=(--ensemble "$directory/best"); done
if [ ${#others[@]} -gt 0 ]; then
  clearhead evaluate --model "${directories[0]}/best" "${others[@]}" --as-papers \
    --data "$data/test_2016_flickr.en,$data/test_2016_flickr.fr" \
    --beam-size "${BEAM_SIZE:-5}" --output "$runs/ensemble.hyp"
fi
