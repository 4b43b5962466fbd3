"""The letters of DNA, and the other strand.

A, C, G and T are bases, N is an unknown base. The other IUPAC codes (R = A or G, Y = C or T …)
are read as N: a model has seen too few of them to learn each. U, the base of RNA, is read as T.
Lower case, which marks repeats in genomes, is read as upper case; a gap (- or .) is an error.
"""

from clearhead.errors import UserError

BASES = "ATCG"  # in the order of DNABERT's vocabulary
UNKNOWN = "N"
AMBIGUOUS = "RYSWKMBDHV"
_LETTERS = frozenset(f"{BASES}{UNKNOWN}{AMBIGUOUS}U")
_READ_AS = str.maketrans(f"U{AMBIGUOUS}", f"T{UNKNOWN * len(AMBIGUOUS)}")
_COMPLEMENT = str.maketrans("ATCGN", "TAGCN")
_ONLY_PROTEIN = frozenset("EFILPQ")  # amino acids whose letter is no IUPAC code of a base


def as_dna(sequence: str, place: str) -> str:
    """The sequence in the letters A, T, C, G and N.

    Raises:
        UserError: a letter is no IUPAC code of a base; `place` names the record.
    """
    letters = "".join(sequence.split()).upper()
    if foreign := set(letters) - _LETTERS:
        position, letter = next((i, c) for i, c in enumerate(letters, 1) if c in foreign)
        if foreign & _ONLY_PROTEIN:
            hint = "this looks like a protein: use `clearhead bio protein`"
        else:
            hint = "expected A, C, G, T, U, N or another IUPAC code"
        raise UserError(
            f"{place}: letter {position} of the sequence is {letter!r}, which is no base; {hint}"
        )
    return letters.translate(_READ_AS)


def reverse_complement(sequence: str) -> str:
    """The same stretch of DNA read from the other strand: reversed, A ↔ T, C ↔ G."""
    return sequence[::-1].translate(_COMPLEMENT)
