import tracemalloc
from itertools import takewhile
from pathlib import Path

from clearhead.data import open_pairs
from clearhead.data.batching import BatchPlan, TokenBatches
from clearhead.data.encoded import EncodedCorpus


def peak(lines: int, directory: Path) -> int:
    """Bytes at the highest moment of reading, encoding and one epoch of batches."""
    path = directory / f"{lines}.tsv"
    path.write_text("12 13 14 15\t22 23 24\n" * lines, encoding="utf-8")
    tracemalloc.start()
    corpus = EncodedCorpus.build(
        open_pairs(path),
        lambda texts: [[int(word) for word in text.split()] for text in texts],
        directory / str(lines),
        max_length=9,
    )
    batches = TokenBatches(corpus, BatchPlan(max_tokens=200, window=50))
    assert sum(len(b.indices) for b in takewhile(lambda b: b.epoch < 1, batches)) == lines
    highest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return highest


def test_memory_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    peak(100, tmp_path)  # what is loaded once
    assert peak(12_000, tmp_path) < 1.5 * peak(3_000, tmp_path)
