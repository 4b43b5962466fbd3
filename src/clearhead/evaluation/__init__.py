"""Evaluation of translations: BLEU, chrF, paired bootstrap, exact match, alignment error rate."""
