"""Corpora: pairs of sentences from many kinds of files, encoded, and cut into batches.

`open_pairs` reads a corpus, `EncodedCorpus` keeps its token ids on disk, and
`TokenBatches` walks through them in a random order that can be taken up again.
"""

from clearhead.data.corpus import open_pairs
from clearhead.data.pairs import Pair, Pairs

__all__ = ["Pair", "Pairs", "open_pairs"]
