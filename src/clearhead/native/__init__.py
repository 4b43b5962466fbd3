"""The Transformer for inference in C, equal to the block files; needs numpy, not torch."""
