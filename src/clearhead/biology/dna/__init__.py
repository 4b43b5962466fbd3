"""DNA: the alphabet, both strands, k-mers."""
