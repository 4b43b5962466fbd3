"""Recurrent translators and the Transformer: cost, memory, gradients and BLEU, measured."""
