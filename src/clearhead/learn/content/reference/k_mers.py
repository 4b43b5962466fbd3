"""Words of DNA."""

COMPLEMENT = {"A": "T", "C": "G", "G": "C", "T": "A", "N": "N"}


def k_mers(sequence: str, k: int, stride: int) -> list[str]:
    """All substrings of length k whose start is a multiple of `stride`; none is shorter."""
    return [sequence[i : i + k] for i in range(0, len(sequence) - k + 1, stride)]


def reverse_complement(sequence: str) -> str:
    """The other strand, read in its own direction: complemented and reversed."""
    return "".join(COMPLEMENT[base] for base in reversed(sequence))
