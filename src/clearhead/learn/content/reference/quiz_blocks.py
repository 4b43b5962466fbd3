"""Quiz, part 1."""

# 1. What does a row of the attention weights sum to?
#    a) √d_k   b) 1   c) the number of keys
rows_sum_to = "b"
# 2. In cross-attention, where do the queries come from?
#    a) the encoder's output   b) the decoder   c) both
queries_come_from = "b"
# 3. Without positional encoding, what happens to the encoder's outputs if two words are swapped?
#    a) they are swapped too, otherwise unchanged   b) all change   c) nothing
swapping_words = "a"
# 4. What does dividing by √d_k prevent?
#    a) overflow of float32   b) a softmax that is almost one-hot   c) negative scores
scaling_prevents = "b"
