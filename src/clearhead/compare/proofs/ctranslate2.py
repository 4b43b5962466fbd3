"""CTranslate2: the shipped translator in C++, token for token."""

from collections.abc import Iterator

from clearhead.compare.ctranslate2 import torch_threads_kept
from clearhead.compare.proofs.exported import exported
from clearhead.compare.proofs.proof import Finding, Proof


def proofs() -> Iterator[Proof]:
    """The export."""
    proof = exported("ctranslate2", "ctranslate2.Translator")

    def find() -> Finding:
        with torch_threads_kept():
            return proof.find()

    yield Proof(proof.ours, proof.theirs, proof.precision, proof.bound, find)
