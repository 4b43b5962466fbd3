"""Quiz, parts 4 and 5."""

# 1. Which mask does BERT's self-attention use?
#    a) look-ahead   b) padding only   c) none at all
mask_of_bert = "b"
# 2. Which mask does GPT's self-attention need in training?
#    a) look-ahead   b) padding only   c) none at all
mask_of_gpt = "a"
# 3. A larger beam usually makes translations …
#    a) longer   b) shorter, without length normalization   c) more diverse
larger_beam = "b"
# 4. BLEU is computed on …
#    a) detokenized text, with a stated signature   b) token ids   c) lower-cased stems
bleu_on = "a"
