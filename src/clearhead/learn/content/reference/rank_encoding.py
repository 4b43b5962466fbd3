"""A cell as a sentence of genes, as Geneformer encodes it (Theodoris et al. 2023)."""

import torch
from torch import Tensor


def rank_encoding(counts: Tensor, medians: Tensor, max_length: int) -> list[int]:
    """Gene indices from the most to the least expressed, relative to each gene's median.

    Counts are divided by the cell's total, then by the gene's median over the cells in which
    its count is not 0; genes with count 0 are left out, and at most `max_length` are kept.

    Shape:
        counts, medians: (genes,)
    """
    values = counts / counts.sum() / medians
    order = torch.argsort(values, descending=True)
    expressed = [int(gene) for gene in order if counts[gene] > 0]
    return expressed[:max_length]
