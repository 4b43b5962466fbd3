"""Proofs that our implementation computes what other libraries compute."""
