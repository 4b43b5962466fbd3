"""DNA, proteins and single cells through the same Transformer, next to honest baselines."""
