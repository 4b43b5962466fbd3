"""DNA: the alphabet, both strands, k-mers.

A, C, G and T are bases, N is an unknown base. The other IUPAC codes (R = A or G, Y = C or T …)
are read as N: a model has seen too few of them to learn each. U, the base of RNA, is read as T.
Lower case, which marks repeats in genomes, is read as upper case; a gap (- or .) is an error.

Overlapping k-mers start at every base: ATTGC is ATT TTG TGC for k = 3. A base then occurs in k
neighbouring tokens, so a single masked token can be read off its neighbours: see
`clearhead.data.masking`. Non-overlapping k-mers start at every k-th base.
"""

from itertools import product

from clearhead.errors import UserError

BASES = "ATCG"  # in the order of DNABERT's vocabulary
UNKNOWN = "N"
AMBIGUOUS = "RYSWKMBDHV"
_LETTERS = frozenset(f"{BASES}{UNKNOWN}{AMBIGUOUS}U")
_READ_AS = str.maketrans(f"U{AMBIGUOUS}", f"T{UNKNOWN * len(AMBIGUOUS)}")
_COMPLEMENT = str.maketrans("ATCGN", "TAGCN")
_ONLY_PROTEIN = frozenset("EFILPQ")  # amino acids whose letter is no IUPAC code of a base
SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SMALLEST, LARGEST = 3, 6


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
            f"{place}: letter {position} of the sequence is {letter!r}, which is not a base; {hint}"
        )
    return letters.translate(_READ_AS)


def reverse_complement(sequence: str) -> str:
    """The same stretch of DNA read from the other strand: reversed, A ↔ T, C ↔ G."""
    return sequence[::-1].translate(_COMPLEMENT)


def kmer_vocabulary(k: int) -> list[str]:
    """The five special tokens, then the 4^k k-mers in DNABERT's order: A, T, C, G.

    Raises:
        UserError: k is not 3, 4, 5 or 6.
    """
    if not SMALLEST <= k <= LARGEST:
        raise UserError(f"k={k} is not supported; give {SMALLEST} to {LARGEST}")
    return [*SPECIALS, *("".join(bases) for bases in product(BASES, repeat=k))]


def kmers(sequence: str, k: int, step: int = 1) -> list[str]:
    """The k-mers of a sequence; step 1 lets them overlap, step k cuts the sequence into them.

    A rest of fewer than k bases at the end is part of no k-mer.

    Raises:
        UserError: the sequence is shorter than k.
    """
    if len(sequence) < k:
        raise UserError(f"{len(sequence)} bases, fewer than k={k}; give more or a smaller tokens.k")
    return [sequence[start : start + k] for start in range(0, len(sequence) - k + 1, step)]
