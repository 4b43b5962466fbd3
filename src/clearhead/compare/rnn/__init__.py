"""Recurrent translators, as good as they were before 2017, measured beside the Transformer."""
