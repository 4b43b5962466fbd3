"""Quiz, parts 2 and 3."""

# 1. Why can all target positions be trained at once although each may only see its past?
#    a) the look-ahead mask hides the future   b) dropout   c) the encoder is bidirectional
trained_at_once = "a"
# 2. Which tensor does every decoder layer's cross-attention read?
#    a) the matching encoder layer's output   b) the encoder's final output   c) the embeddings
cross_attention_reads = "b"
# 3. A pre-norm stack ends with a norm because …
#    a) the softmax needs it   b) the sum is never normalized inside   c) dropout changes the scale
final_norm_because = "b"
# 4. Should the EOS token count in the loss?
#    a) yes, or the model never learns to stop   b) no, it is not a word   c) only in evaluation
eos_in_the_loss = "a"
