"""ONNX: the shipped translator as two graphs, computed by onnxruntime."""

from collections.abc import Iterator

from clearhead.compare.proofs.exported import exported
from clearhead.compare.proofs.proof import Proof


def proofs() -> Iterator[Proof]:
    """The export."""
    yield exported("onnx", "onnxruntime")
