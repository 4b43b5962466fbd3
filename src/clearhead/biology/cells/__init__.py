"""Single cells: counts of genes, ranked by Geneformer's rule."""
