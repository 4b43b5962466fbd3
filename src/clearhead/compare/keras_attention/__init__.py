"""`keras.layers.MultiHeadAttention` beside ours and torch's: the same function, other habits."""
