"""k-mers: k bases as one token, and DNABERT's vocabulary of all of them (Ji et al. 2021).

Overlapping k-mers start at every base: ATTGC is ATT TTG TGC for k = 3. A base then occurs in k
neighbouring tokens, so a single masked token can be read off its neighbours: see
`clearhead.data.masking`. Non-overlapping k-mers start at every k-th base.
"""

from itertools import product

from clearhead.biology.dna.alphabet import BASES
from clearhead.errors import UserError

SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SMALLEST, LARGEST = 3, 6


def kmer_vocabulary(k: int) -> list[str]:
    """The five special tokens, then the 4^k k-mers in DNABERT's order: A, T, C, G.

    Raises:
        UserError: k is not 3, 4, 5 or 6.
    """
    if not SMALLEST <= k <= LARGEST:
        raise UserError(f"k={k} is not a size of k-mers here; give {SMALLEST} to {LARGEST}")
    return [*SPECIALS, *("".join(bases) for bases in product(BASES, repeat=k))]


def kmers(sequence: str, k: int, step: int = 1) -> list[str]:
    """The k-mers of a sequence; step 1 lets them overlap, step k cuts the sequence into them.

    A rest of fewer than k bases at the end is part of no k-mer.

    Raises:
        UserError: the sequence is shorter than k.
    """
    if len(sequence) < k:
        raise UserError(f"the sequence has {len(sequence)} bases, fewer than k={k}; give a longer")
    return [sequence[start : start + k] for start in range(0, len(sequence) - k + 1, step)]
