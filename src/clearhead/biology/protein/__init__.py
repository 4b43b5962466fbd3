"""Proteins: the effect of substitutions."""
