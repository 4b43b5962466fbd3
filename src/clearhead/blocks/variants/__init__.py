"""Blocks that the paper does not have: those of other model families, and of fine-tuning."""
