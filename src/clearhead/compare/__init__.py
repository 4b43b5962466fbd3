"""Comparisons with other libraries: benchmarks, proofs of equality, and studies."""
