"""Proofs and races against others: the same work, side by side, on the same machine."""
