"""Export of a model to other engines, and comparison of the export with the original."""
