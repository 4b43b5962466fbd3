"""Probes of biology's encodings."""

import torch

from clearhead.learn.content.probes.lists import listed
from clearhead.learn.run import Run, probe


@probe()
def k_mers(run: Run) -> None:
    """`k_mers(sequence, k, stride)` and `reverse_complement(sequence)`."""
    words, reverse = run.get("k_mers"), run.get("reverse_complement")
    for sequence in ("ACGTTGCAAT", "GATTACA", "AC", "ACGNT", "AAAACAAAA"):
        for k, stride in ((3, 1), (3, 3), (2, 1), (4, 2)):
            run.seen[f"k={k}, stride={stride} of {sequence}"] = listed(
                words(sequence, k, stride), str
            )
        run.seen[f"reverse complement of {sequence}"] = reverse(sequence)


@probe({"genes": 8, "max_length": 5}, {"genes": 12, "max_length": 20})
def rank_encoding(run: Run) -> None:
    """`rank_encoding(counts, medians, max_length)`."""
    counts = run.ids(run.genes, high=40).to(torch.float64)
    counts[1], counts[3], counts[2] = 0.0, 0.0, 1.0
    medians = run.normal(run.genes).abs().to(torch.float64) + 0.2
    found = run.get("rank_encoding")(counts, medians, run.max_length)
    run.seen["genes, most expressed first"] = listed(found)
