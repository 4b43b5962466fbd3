"""Corpora: pairs of sentences from files of many formats, encoded, and cut into batches.

`open_pairs` reads a corpus, `EncodedCorpus` stores its token ids on disk, and `TokenBatches`
returns padded batches in a random order that can be resumed at any batch.
"""

from typing import TYPE_CHECKING

from clearhead.lazy import attributes_of

if TYPE_CHECKING:  # for editors and type checkers
    from clearhead.data.corpus import open_pairs
    from clearhead.data.pairs import Pair, Pairs

__all__ = ["Pair", "Pairs", "open_pairs"]

__getattr__ = attributes_of(
    __name__,
    {"clearhead.data.corpus": ["open_pairs"], "clearhead.data.pairs": ["Pair", "Pairs"]},
)
