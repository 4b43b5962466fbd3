"""CTranslate2: the shipped translator in C++, token for token."""

from collections.abc import Iterator

from clearhead.compare.proofs.exported import exported
from clearhead.compare.proofs.proof import Proof


def proofs() -> Iterator[Proof]:
    """The export."""
    yield exported("ctranslate2", "ctranslate2.Translator")
